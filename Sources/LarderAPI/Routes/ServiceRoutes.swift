import DiskCache
import Larder
import MicroHTTPD
import Primitives

/// Counters, probes and the description of the API.
struct ServiceRoutes: Sendable {
    let service: LarderService
    let isDraining: @Sendable () -> Bool
    /// Writes the metrics of connections and requests. They cover all routes, including these, so they are set later.
    var httpMetrics: @Sendable (inout PrometheusText) -> Void = { _ in }

    var routes: [Route] {
        [
            whole("GET", "/stats", .admin, .answering("getStats", stats)),
            whole("POST", "/memory/trim", .admin, .calling("trimMemory", trimMemory)),
            whole("GET", "/metrics", .admin, .answering("getMetrics") { _ in metrics() }),
            whole("GET", "/livez", nil, .answering("getLiveness") { _ in .json(["status": "ok"]) }),
            whole("GET", "/readyz", nil, .answering("getReadiness") { _ in readiness() }),
            whole("GET", "/openapi.yaml", nil, .answering("getOpenAPI") { _ in Self.document }),
        ]
    }

    /// The routes that are also served on the port for probes and metrics, where they need no token.
    var adminRoutes: [Route] {
        routes.filter { ["/livez", "/readyz", "/metrics"].contains($0.pattern) }
    }

    /// Returns a route that concerns the whole server, independent of the namespace.
    private func whole(_ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint) -> Route {
        Route(method, pattern, scope, endpoint, in: .server)
    }

    private static let document = Response.text(PackageResources.openapi_yaml, type: "application/yaml")

    private func readiness() -> Response {
        if isDraining() { return .json(["status": "draining"], status: 503, fields: [.retryAfter: "1"]) }
        if !service.isInPlace { return .json(["status": "lost"], status: 503, fields: [.retryAfter: "1"]) }
        return .json(["status": "ok"])
    }

    /// The namespaces count the hits of answers at hand.
    private var hitCount: Int { service.metrics.hits.value + service.namespaces.hitsAtHand }

    private var memory: MemoryStatistics {
        service.namespaces.all.reduce(into: MemoryStatistics()) { $0.add($1.cache.memoryStatistics) }
    }

    private func trimMemory(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        var target = 0
        if let text = try head.query(["target"])["target"] {
            guard let size = ByteSize(text) else {
                throw .invalid("target is a number of bytes, such as 1048576 or 64MiB", pointer: "/target")
            }
            target = size.bytes
        }
        service.memory.trim(toBytes: target) { trimmed in
            call.changed("bytes of memory", count: trimmed.freedBytes)
            call.respond(
                .json(["freedBytes": .number(trimmed.freedBytes), "memoryBytes": .number(trimmed.memoryBytes)]))
        }
    }

    private func stats(_ head: Endpoint.Head) throws(Problem) -> Response {
        _ = try head.query()
        let (metrics, totals, memory) = (service.metrics, service.totals, memory)
        let origin = service.transferCounts
        let space = service.diskSpace
        return .json([
            "version": .string(Version.current),
            "startDate": .date(service.startDate),
            "uptimeSeconds": .seconds(service.uptime),
            "entries": .number(totals.entries),
            "diskBytes": .number(totals.diskBytes),
            "diskLimit": .number(service.configuration.diskLimit),
            "diskReserve": space.map { .number($0.reserve) } ?? .null,
            "diskFreeBytes": space.map { .number($0.free) } ?? .null,
            "memoryBytes": .number(memory.bytes),
            "memoryLimit": .number(service.configuration.memoryLimit),
            "currentMemoryLimit": .number(service.memory.currentLimit),
            "hits": .number(hitCount),
            "misses": .number(metrics.misses.value),
            "joins": .number(metrics.joins.value),
            "downloads": [
                "running": .number(origin.running),
                "queued": .number(origin.queued),
                "downloaded": .number(metrics.downloaded.value),
                "revalidated": .number(metrics.revalidated.value),
                "failed": .number(metrics.failed.value),
                "cancelled": .number(metrics.cancelled.value),
            ],
        ])
    }

    private func metrics() -> Response {
        let (metrics, totals, memory) = (service.metrics, service.totals, memory)
        var text = PrometheusText()
        text.begin("larder_build_info", "gauge", "The version that runs.")
        text.sample("larder_build_info", [("version", Version.current)], 1)
        text.metric(
            "larder_hits_total", "counter", "Reads and downloads answered from the cache.", hitCount)
        text.metric(
            "larder_misses_total", "counter", "Reads that found nothing, and downloads that had to ask the origin.",
            metrics.misses.value)
        text.metric(
            "larder_joins_total", "counter", "Downloads and requests of /fetch that joined a running transfer.",
            metrics.joins.value)
        text.metric(
            "larder_stale_answers_total", "counter", "Requests answered with an entry past its expiry.",
            metrics.staleAnswers.value)
        text.begin(
            "larder_downloads_total", "counter",
            "Downloads, and transfers for /fetch, that ended, by outcome.")
        for (outcome, counter) in [
            ("downloaded", metrics.downloaded), ("revalidated", metrics.revalidated), ("failed", metrics.failed),
            ("cancelled", metrics.cancelled),
        ] {
            text.sample("larder_downloads_total", [("outcome", outcome)], counter.value)
        }
        let origin = service.transferCounts
        text.metric(
            "larder_downloads_running", "gauge", "Running transfers from origins, of downloads and of /fetch.",
            origin.running)
        text.metric(
            "larder_downloads_queued", "gauge", "Transfers from origins that wait for their turn.", origin.queued)
        text.metric(
            "larder_origin_received_bytes_total", "counter", "Bytes of bodies received from origins, decoded.",
            metrics.receivedBytes.value)
        text.begin("larder_download_duration_seconds", "histogram", "Time that downloads took.")
        text.histogram("larder_download_duration_seconds", [], metrics.downloadDurations.snapshot())
        text.begin("larder_entries", "gauge", "Entries held, by kind.")
        for kind in Entry.Kind.allCases {
            text.sample("larder_entries", [("kind", kind.rawValue)], totals.entriesByKind[kind] ?? 0)
        }
        text.metric("larder_disk_bytes", "gauge", "Bytes that entries take of the disk limit.", totals.diskBytes)
        text.metric("larder_disk_limit_bytes", "gauge", "The disk limit.", service.configuration.diskLimit)
        if let space = service.diskSpace {
            text.metric(
                "larder_disk_reserve_bytes", "gauge", "Bytes of the file system that are left to others.",
                space.reserve)
            text.metric("larder_disk_free_bytes", "gauge", "Bytes of the file system that are free.", space.free)
        }
        text.metric("larder_body_bytes", "gauge", "The sum of the lengths of all bodies.", totals.bodyBytes)
        text.metric("larder_memory_bytes", "gauge", "Bytes that the memory tier takes of its limit.", memory.bytes)
        text.metric("larder_memory_limit_bytes", "gauge", "The memory tier's limit.", service.configuration.memoryLimit)
        text.metric(
            "larder_memory_current_limit_bytes", "gauge",
            "The memory tier's limit as it is now: less when memory is short.",
            service.memory.currentLimit)
        text.metric(
            "larder_memory_pressure_total", "counter", "Signs that memory is short.", service.memory.signs)
        text.metric("larder_memory_entries", "gauge", "Entries in the memory tier.", memory.count)
        removalMetrics(&text)
        namespaceMetrics(&text)
        eventMetrics(&text)
        httpMetrics(&text)
        ProcessMetrics().write(into: &text)
        return .text(Array(text.text.utf8), type: PrometheusText.contentType)
    }

    private func removalMetrics(_ text: inout PrometheusText) {
        let removals = service.metrics.removals
        text.begin("larder_evictions_total", "counter", "Entries evicted because room was needed, by reason.")
        for reason in [RemovalCause.limit, .reserve, .variants] {
            text.sample("larder_evictions_total", [("reason", reason.rawValue)], removals.count(of: reason))
        }
        text.metric(
            "larder_expiries_total", "counter", "Entries removed because they had expired and were of no more use.",
            removals.count(of: .expired))
        text.begin("larder_purges_total", "counter", "Entries that were purged, by kind.")
        for kind in Entry.Kind.allCases {
            text.sample("larder_purges_total", [("kind", kind.rawValue)], removals.count(of: .purged, kind: kind))
        }
        text.metric(
            "larder_damaged_entries_total", "counter", "Entries removed because their bodies were damaged or missing.",
            removals.count(of: .damaged))
    }

    private func eventMetrics(_ text: inout PrometheusText) {
        let events = service.events
        text.metric("larder_event_listeners", "gauge", "Clients that listen to events.", events.listenerCount)
        text.metric(
            "larder_events_sent_total", "counter", "Events sent, counted for each listener.", events.sent.value)
        text.metric(
            "larder_event_listeners_dropped_total", "counter", "Listeners cut off because they were too far behind.",
            events.dropped.value)
    }

    private func namespaceMetrics(_ text: inout PrometheusText) {
        let all = service.namespaces.all
        text.begin("larder_namespace_entries", "gauge", "Entries held, by namespace.")
        for namespace in all {
            text.sample("larder_namespace_entries", [("namespace", namespace.name)], namespace.cache.totals.entries)
        }
        text.begin("larder_namespace_disk_bytes", "gauge", "Bytes that entries take of the namespace's disk limit.")
        for namespace in all {
            text.sample(
                "larder_namespace_disk_bytes", [("namespace", namespace.name)], namespace.cache.totals.diskBytes)
        }
        text.begin("larder_namespace_disk_limit_bytes", "gauge", "The namespace's disk limit.")
        for namespace in all {
            text.sample("larder_namespace_disk_limit_bytes", [("namespace", namespace.name)], namespace.cache.diskLimit)
        }
    }
}
