import Larder
import MicroHTTPD
import Primitives

struct ServiceRoutes: Sendable {
    let service: LarderService
    let isDraining: @Sendable () -> Bool
    /// Metrics of connections and requests. They cover all routes, including these, so they are set later.
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

    /// The port for probes and metrics also serves them, without tokens.
    var adminRoutes: [Route] {
        routes.filter { ["/livez", "/readyz", "/metrics"].contains($0.pattern) }
    }

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
        service.namespaces.all.reduce(into: MemoryStatistics()) { $0.add($1.entries.memoryStatistics) }
    }

    private func trimMemory(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        var target = 0
        if let text = try head.query(["target"])["target"] {
            guard let size = ByteSize(text) else {
                throw .invalid("target must be a number of bytes, such as 1048576 or 64MiB", pointer: "/target")
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
        text.begin("larder_build_info", "gauge", "Version of the running server, as a label.")
        text.sample("larder_build_info", [("version", Version.current)], 1)
        text.metric(
            "larder_hits_total", "counter", "Reads and downloads answered from the cache.", hitCount)
        text.metric(
            "larder_misses_total", "counter", "Reads without an entry, and downloads that asked the origin.",
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
        text.begin("larder_download_duration_seconds", "histogram", "Duration of downloads, in seconds.")
        text.histogram("larder_download_duration_seconds", [], metrics.downloadDurations.snapshot())
        text.begin("larder_entries", "gauge", "Entries in the cache, by kind.")
        for kind in Entry.Kind.allCases {
            text.sample("larder_entries", [("kind", kind.rawValue)], totals.entriesByKind[kind] ?? 0)
        }
        text.metric(
            "larder_disk_bytes", "gauge", "Disk space of entries, in bytes, counted towards the disk limit.",
            totals.diskBytes)
        text.metric("larder_disk_limit_bytes", "gauge", "Disk limit, in bytes.", service.configuration.diskLimit)
        if let space = service.diskSpace {
            text.metric(
                "larder_disk_reserve_bytes", "gauge",
                "Free bytes of the file system that entries must leave (--disk-reserve).",
                space.reserve)
            text.metric("larder_disk_free_bytes", "gauge", "Free bytes of the file system.", space.free)
        }
        text.metric("larder_body_bytes", "gauge", "Sum of the lengths of all bodies, in bytes.", totals.bodyBytes)
        text.metric(
            "larder_memory_bytes", "gauge", "Bytes in the memory tier, counted towards its limit.", memory.bytes)
        text.metric(
            "larder_memory_limit_bytes", "gauge", "Configured limit of the memory tier, in bytes.",
            service.configuration.memoryLimit)
        text.metric(
            "larder_memory_current_limit_bytes", "gauge",
            "Current limit of the memory tier, in bytes: lower than configured while memory is short.",
            service.memory.currentLimit)
        text.metric(
            "larder_memory_pressure_total", "counter", "Signals that memory is short.", service.memory.signs)
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
        text.begin("larder_evictions_total", "counter", "Entries evicted to make room, by reason.")
        for reason in [RemovalCause.limit, .reserve, .variants] {
            text.sample("larder_evictions_total", [("reason", reason.rawValue)], removals.count(of: reason))
        }
        text.metric(
            "larder_expiries_total", "counter", "Expired entries removed because no request could use them any more.",
            removals.count(of: .expired))
        text.begin("larder_purges_total", "counter", "Entries purged, by kind.")
        for kind in Entry.Kind.allCases {
            text.sample("larder_purges_total", [("kind", kind.rawValue)], removals.count(of: .purged, kind: kind))
        }
        text.metric(
            "larder_damaged_entries_total", "counter", "Entries removed because their bodies were damaged or missing.",
            removals.count(of: .damaged))
    }

    private func eventMetrics(_ text: inout PrometheusText) {
        let events = service.events
        text.metric("larder_event_listeners", "gauge", "Connected event listeners.", events.listenerCount)
        text.metric(
            "larder_events_sent_total", "counter", "Events sent, counted once for each listener.", events.sent.value)
        text.metric(
            "larder_event_listeners_dropped_total", "counter",
            "Event listeners disconnected because they read too slowly.",
            events.dropped.value)
    }

    private func namespaceMetrics(_ text: inout PrometheusText) {
        let all = service.namespaces.all
        text.begin("larder_namespace_entries", "gauge", "Entries in the cache, by namespace.")
        for namespace in all {
            text.sample("larder_namespace_entries", [("namespace", namespace.name)], namespace.entries.totals.entries)
        }
        text.begin("larder_namespace_disk_bytes", "gauge", "Disk space of entries, in bytes, by namespace.")
        for namespace in all {
            text.sample(
                "larder_namespace_disk_bytes", [("namespace", namespace.name)], namespace.entries.totals.diskBytes)
        }
        text.begin("larder_namespace_disk_limit_bytes", "gauge", "Disk limit, in bytes, by namespace.")
        for namespace in all {
            text.sample(
                "larder_namespace_disk_limit_bytes", [("namespace", namespace.name)], namespace.entries.diskLimit)
        }
    }
}
