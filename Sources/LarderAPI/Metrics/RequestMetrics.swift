import Larder
import Primitives

/// Requests by route and status, and how long they took until their answer began.
///
/// The counters of a route are made once, so that counting is one atomic addition and no lock; statuses are counted in
/// a row of the 500 that there can be.
final class RequestMetrics: Sendable {
    fileprivate final class Row: Sendable {
        let durations = DurationHistogram()
        let statuses = (100..<600).map { _ in Counter() }
        /// Those that took no time worth measuring: with one addition they count in both of the others.
        let instants = (100..<600).map { _ in Counter() }
    }

    private let rows: [String: Row]

    /// Counts requests of one route that get one status, at once.
    struct Meter: Sendable {
        fileprivate let instants: Counter

        /// Counts a request that took no time worth measuring.
        func count() { instants.increment() }
    }

    /// What counts requests of a route that get a status; `nil` for what is not counted, as a status that an origin
    /// has made up.
    func meter(operation: String, status: Int) -> Meter? {
        guard let row = rows[operation], (100..<600).contains(status) else { return nil }
        return Meter(instants: row.instants[status - 100])
    }

    /// - Parameter operations: the names of all routes; requests without a route count as `none`.
    init(operations: [String]) {
        rows = Dictionary(uniqueKeysWithValues: Set(operations + ["none"]).map { ($0, Row()) })
    }

    func record(operation: String, status: Int, duration: Duration) {
        guard let row = rows[operation], (100..<600).contains(status) else { return }
        row.statuses[status - 100].increment()
        row.durations.record(duration)
    }

    /// Statuses that wake somebody. They are shown before there are any: a counter that begins with 1 has not risen.
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
