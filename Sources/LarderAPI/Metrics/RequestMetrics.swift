import Larder
import Primitives

/// Counts requests by route and status, and measures the time from a request's head to the start of its answer.
///
/// The counters of a route are allocated once, so that counting takes one atomic addition and no lock. Each route has a
/// counter for each of the 500 possible statuses.
final class RequestMetrics: Sendable {
    fileprivate final class Row: Sendable {
        let durations = DurationHistogram()
        let statuses = (100..<600).map { _ in Counter() }
        /// Requests that took too little time to measure. They count in `statuses` and in `durations` as well, but cost
        /// only one addition.
        let instants = (100..<600).map { _ in Counter() }
    }

    private let rows: [String: Row]

    /// Counts the requests of a route with a status, if they took too little time to measure.
    struct Meter: Sendable {
        fileprivate let instants: Counter

        /// Counts a request that took too little time to measure.
        func count() { instants.increment() }
    }

    /// Returns the meter of a route and a status; `nil` if requests like that are not counted. This concerns unknown
    /// routes, and statuses outside 100 to 599, which an origin may invent.
    func meter(operation: String, status: Int) -> Meter? {
        guard let row = rows[operation], (100..<600).contains(status) else { return nil }
        return Meter(instants: row.instants[status - 100])
    }

    /// Creates the counters of all routes.
    ///
    /// - Parameter operations: the names of the routes. Requests without a route count as `none`.
    init(operations: [String]) {
        rows = Dictionary(uniqueKeysWithValues: Set(operations + ["none"]).map { ($0, Row()) })
    }

    func record(operation: String, status: Int, duration: Duration) {
        guard let row = rows[operation], (100..<600).contains(status) else { return }
        row.statuses[status - 100].increment()
        row.durations.record(duration)
    }

    /// Statuses that alert an operator. They are written even at zero, because Prometheus sees no increase in a counter
    /// that first appears with 1.
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
