import EmbeddedFiles
import Larder
import MicroHTTPD
import Primitives

struct ServiceRoutes: Sendable {
    let service: LarderService
    let isDraining: Flag
    /// Writes the metrics of connections and requests. ``APIServer`` sets this later, because they need all routes.
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

    /// The routes that the admin port serves, too, without tokens.
    var adminRoutes: [Route] {
        routes.filter { ["/livez", "/readyz", "/metrics"].contains($0.pattern) }
    }

    private func whole(_ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint) -> Route {
        Route(method, pattern, scope, endpoint, in: .server)
    }

    private static let document = Response.text(EmbeddedFiles.openapi, type: "application/yaml")

    private func readiness() -> Response {
        if isDraining.isSet { return .json(["status": "draining"], status: 503, fields: [.retryAfter: "1"]) }
        if !service.isInPlace { return .json(["status": "lost"], status: 503, fields: [.retryAfter: "1"]) }
        return .json(["status": "ok"])
    }

    /// Includes the hits that ready answers serve, which the namespaces count.
    private var hitCount: Int { service.metrics.hits.value + service.namespaces.hitsAtHand }

    private var memory: MemoryStatistics {
        service.namespaces.all.reduce(into: MemoryStatistics()) { $0.add($1.entries.memoryStatistics) }
    }

    private func trimMemory(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let target = try head.query(["target"])
            .value("target", "a number of bytes, such as 1048576 or 64MiB") { ByteSize($0) }
        service.memory.trim(toBytes: target?.bytes ?? 0) { trimmed in
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
        text.family(
            "larder_build_info", "gauge", "Version of the running server, as a label.", by: "version",
            [(Version.current, 1)])
        text.counter("larder_hits_total", "Reads and downloads answered from the cache.", hitCount)
        text.counter(
            "larder_misses_total", "Reads without an entry, and downloads that asked the origin.", metrics.misses.value)
        text.counter(
            "larder_joins_total", "Downloads and requests of /fetch that joined a running transfer.",
            metrics.joins.value)
        text.counter(
            "larder_stale_answers_total", "Requests answered with an entry past its expiry.",
            metrics.staleAnswers.value)
        text.family(
            "larder_downloads_total", "counter", "Downloads, and transfers for /fetch, that ended, by outcome.",
            by: "outcome",
            [
                ("downloaded", metrics.downloaded.value), ("revalidated", metrics.revalidated.value),
                ("failed", metrics.failed.value), ("cancelled", metrics.cancelled.value),
            ])
        text.counter(
            "larder_paused_downloads_total", "Downloads without a request, because their host had asked for a pause.",
            metrics.paused.value)
        let origin = service.transferCounts
        text.gauge(
            "larder_downloads_running", "Running transfers from origins, of downloads and of /fetch.", origin.running)
        text.gauge("larder_downloads_queued", "Transfers from origins that wait for their turn.", origin.queued)
        text.counter(
            "larder_origin_received_bytes_total", "Bytes of bodies received from origins, decoded.",
            metrics.receivedBytes.value)
        text.begin("larder_download_duration_seconds", "histogram", "Duration of downloads, in seconds.")
        text.histogram("larder_download_duration_seconds", [], metrics.downloadDurations.snapshot())
        text.family(
            "larder_entries", "gauge", "Entries in the cache, by kind.", by: "kind",
            Entry.Kind.listed.map { ($0.rawValue, totals.entriesByKind[$0] ?? 0) })
        text.gauge(
            "larder_disk_bytes", "Disk space of entries, in bytes, counted towards the disk limit.", totals.diskBytes)
        text.gauge("larder_disk_limit_bytes", "Disk limit, in bytes.", service.configuration.diskLimit)
        let space = service.diskSpace
        text.gauge(
            "larder_disk_reserve_bytes", "Free bytes of the file system that entries must leave (--disk-reserve).",
            space?.reserve)
        text.gauge("larder_disk_free_bytes", "Free bytes of the file system.", space?.free)
        text.gauge("larder_body_bytes", "Sum of the lengths of all bodies, in bytes.", totals.bodyBytes)
        text.gauge("larder_memory_bytes", "Bytes in the memory tier, counted towards its limit.", memory.bytes)
        text.gauge(
            "larder_memory_limit_bytes", "Configured limit of the memory tier, in bytes.",
            service.configuration.memoryLimit)
        text.gauge(
            "larder_memory_current_limit_bytes",
            "Current limit of the memory tier, in bytes: lower than configured while memory is short.",
            service.memory.currentLimit)
        text.counter("larder_memory_pressure_total", "Signals that memory is short.", service.memory.signs)
        text.gauge("larder_memory_entries", "Entries in the memory tier.", memory.count)
        removalMetrics(&text)
        pageMetrics(&text)
        subscriptionMetrics(&text)
        outboxMetrics(&text)
        namespaceMetrics(&text)
        eventMetrics(&text)
        httpMetrics(&text)
        ProcessMetrics.write(into: &text)
        return .text(Array(text.text.utf8), type: PrometheusText.contentType)
    }

    private func removalMetrics(_ text: inout PrometheusText) {
        let removals = service.metrics.removals
        text.family(
            "larder_evictions_total", "counter", "Entries evicted to make room, by reason.", by: "reason",
            [RemovalCause.limit, .reserve, .variants].map { ($0.rawValue, removals.count(of: $0)) })
        text.counter(
            "larder_expiries_total", "Expired entries removed because no request could use them any more.",
            removals.count(of: .expired))
        text.family(
            "larder_purges_total", "counter", "Entries purged, by kind.", by: "kind",
            Entry.Kind.listed.map { ($0.rawValue, removals.count(of: .purged, kind: $0)) })
        text.counter(
            "larder_damaged_entries_total", "Entries removed because their bodies were damaged or missing.",
            removals.count(of: .damaged))
    }

    private func pageMetrics(_ text: inout PrometheusText) {
        let pages = service.metrics.pages
        text.family(
            "larder_page_captures_total", "counter", "Captures of pages that ended, by state.", by: "state",
            PageCounters.Outcome.allCases.map { ($0.rawValue, pages.captures($0).value) })
        text.gauge(
            "larder_page_captures_running", "Captures of pages that fetch or wait.",
            service.namespaces.all.reduce(0) { $0 + $1.pages.runningCount })
        text.family(
            "larder_page_resources_total", "counter", "Resources of ended captures, by outcome.", by: "outcome",
            PageCounters.ResourceOutcome.allCases.map { ($0.rawValue, pages.resources($0).value) })
        text.counter(
            "larder_page_views_total", "Pages that were opened for a replay.", pages.views.value)
    }

    private func subscriptionMetrics(_ text: inout PrometheusText) {
        let metrics = service.subscriptions.metrics
        text.family(
            "larder_subscriptions", "gauge", "Subscriptions, by state.", by: "state",
            metrics.subscriptions.map { ($0.state.rawValue, $0.count) })
        let resources = metrics.resources
        text.family(
            "larder_subscription_resources", "gauge", "Resources that subscriptions want, by state.", by: "state",
            [("held", resources.held), ("missing", resources.missing)])
        text.gauge(
            "larder_subscription_oldest_age_seconds",
            "Time since an origin confirmed the oldest copy that a subscription holds.",
            metrics.oldestAge(at: service.clock.now()).inSeconds)
        text.gauge(
            "larder_subscription_failing_sources",
            "Subscriptions of which the source gave no list at its last refresh, or without their credential.",
            metrics.failingSources)
        text.family(
            "larder_subscription_refreshes_total", "counter", "Ended refreshes of subscriptions, by outcome.",
            by: "outcome",
            [("switched", metrics.switches.value), ("failed", metrics.failedSwitches.value)])
    }

    private func outboxMetrics(_ text: inout PrometheusText) {
        let outbox = service.outbox.metrics
        text.family(
            "larder_state_database_failing", "gauge",
            "Whether a database of the state directory cannot be opened, read or written, by database.", by: "database",
            [("outbox", service.outbox.health), ("subscriptions", service.subscriptions.health)]
                .map { ($0.0, $0.1.isFailing ? 1 : 0) })
        text.family(
            "larder_outbox_changes", "gauge", "Changes in the outbox that have not ended, by state.", by: "state",
            outbox.changes.map { ($0.state.rawValue, $0.count) })
        text.gauge(
            "larder_outbox_oldest_age_seconds",
            "Age of the oldest change that has not ended, in seconds; 0 without such a change.",
            outbox.oldestAge(at: service.clock.now()).inSeconds)
        text.family(
            "larder_outbox_ended_total", "counter", "Changes that have ended, by state.", by: "state",
            outbox.ended.map { ($0.state.rawValue, $0.count) })
        text.family(
            "larder_outbox_sends_total", "counter", "Requests of changes to origins, by outcome.", by: "outcome",
            OutboxMetrics.Outcome.allCases.map { ($0.rawValue, outbox.sends($0).value) })
    }

    private func eventMetrics(_ text: inout PrometheusText) {
        let events = service.events
        text.gauge("larder_event_listeners", "Connected event listeners.", events.listenerCount)
        text.counter("larder_events_sent_total", "Events sent, counted once for each listener.", events.sent.value)
        text.counter(
            "larder_event_listeners_dropped_total", "Event listeners disconnected because they read too slowly.",
            events.dropped.value)
    }

    private func namespaceMetrics(_ text: inout PrometheusText) {
        let all = service.namespaces.all.map { (name: $0.name, entries: $0.entries) }
        text.family(
            "larder_namespace_entries", "gauge", "Entries in the cache, by namespace.", by: "namespace",
            all.map { ($0.name, $0.entries.totals.entries) })
        text.family(
            "larder_namespace_disk_bytes", "gauge", "Disk space of entries, in bytes, by namespace.", by: "namespace",
            all.map { ($0.name, $0.entries.totals.diskBytes) })
        text.family(
            "larder_namespace_disk_limit_bytes", "gauge", "Disk limit, in bytes, by namespace.", by: "namespace",
            all.map { ($0.name, $0.entries.diskLimit) })
    }
}
