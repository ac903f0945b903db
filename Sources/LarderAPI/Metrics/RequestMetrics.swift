import Larder
import MicroHTTPD
import Primitives

/// Counts requests by route and status, and measures the time from a request's head to the start of its answer. Each
/// route has a counter for each of the 500 possible statuses, so that counting takes one atomic addition and no lock.
final class RequestMetrics: Sendable {
    private final class Row: Sendable {
        let durations = DurationHistogram()
        let statuses = (100..<600).map { _ in Counter() }
        /// Requests that are too short to measure. ``write(into:)`` adds them to `statuses` and `durations`.
        let instants = (100..<600).map { _ in Counter() }
    }

    private let rows: [String: Row]

    /// The counter in `instants`; `nil` for unknown routes, and for an origin's status outside 100 to 599.
    func meter(operation: String, status: Int) -> Counter? {
        guard let row = rows[operation], (100..<600).contains(status) else { return nil }
        return row.instants[status - 100]
    }

    /// Requests without a route count as `none`.
    init(operations: [String]) {
        rows = Dictionary(uniqueKeysWithValues: Set(operations + ["none"]).map { ($0, Row()) })
    }

    func record(operation: String, status: Int, duration: Duration) {
        guard let row = rows[operation], (100..<600).contains(status) else { return }
        row.statuses[status - 100].increment()
        row.durations.record(duration)
    }

    /// Statuses that are written even at zero, because Prometheus sees no increase in a counter that appears with 1.
    private static let alarming: Set<Int> = [500, 503, 507]

    func write(into text: inout PrometheusText) {
        let sorted = rows.sorted { $0.key < $1.key }
        text.begin("larder_http_requests_total", "counter", "Requests answered, by route and status.")
        for (operation, row) in sorted {
            for (index, (counter, instants)) in zip(row.statuses, row.instants).enumerated() {
                let (status, count) = (index + 100, counter.value + instants.value)
                guard count > 0 || Self.alarming.contains(status) else { continue }
                text.sample("larder_http_requests_total", [("route", operation), ("status", String(status))], count)
            }
        }
        text.begin(
            "larder_http_request_duration_seconds", "histogram", "Time from a request's head to its answer, by route.")
        for (operation, row) in sorted {
            let snapshot = row.durations.snapshot(withInstants: row.instants.reduce(0) { $0 + $1.value })
            guard snapshot.cumulative.last! > 0 else { continue }
            text.histogram("larder_http_request_duration_seconds", [("route", operation)], snapshot)
        }
    }
}

/// A refused connection reaches no route, so ``RequestMetrics`` does not count it. Each counter exists from the start,
/// because Prometheus sees no increase in a counter that first appears with 1.
final class ConnectionMetrics: Sendable {
    private let refusals = Dictionary(uniqueKeysWithValues: ConnectionRefusal.allCases.map { ($0, Counter()) })
    private let daemons = Locked<[Daemon]>([])

    /// Adds this daemon's sent bytes to the metrics.
    func watch(_ daemon: Daemon) { daemons.withLock { $0.append(daemon) } }
    func countRefusal(_ reason: ConnectionRefusal) { refusals[reason]?.increment() }

    func write(into text: inout PrometheusText) {
        text.family(
            "larder_connections_refused_total", "counter",
            "Connections refused because a connection limit was reached, by reason.", by: "reason",
            ConnectionRefusal.allCases.map { ($0.rawValue, refusals[$0]?.value ?? 0) })
        text.counter(
            "larder_sent_bytes_total",
            "Bytes sent to clients on both ports: heads, bodies and TLS, as the kernel counts them.",
            daemons.withLock { $0 }.reduce(0) { $0 + $1.sentBytes })
    }
}
