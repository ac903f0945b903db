import Larder
import Primitives

/// Requests by route and status, and how long they took until their answer began.
///
/// The counters of a route are made once, so that counting is one atomic addition and no lock; statuses are counted in
/// a row of the 500 that there can be.
final class RequestMetrics: Sendable {
    private final class Row: Sendable {
        let durations = DurationHistogram()
        let statuses = (100..<600).map { _ in Counter() }
    }

    private let rows: [String: Row]

    /// - Parameter operations: the names of all routes; requests without a route count as `none`.
    init(operations: [String]) {
        rows = Dictionary(uniqueKeysWithValues: Set(operations + ["none"]).map { ($0, Row()) })
    }

    func record(operation: String, status: Int, duration: Duration) {
        guard let row = rows[operation], (100..<600).contains(status) else { return }
        row.statuses[status - 100].increment()
        row.durations.record(duration)
    }

    func write(into text: inout PrometheusText) {
        let sorted = rows.sorted { $0.key < $1.key }
        text.begin("larder_http_requests_total", "counter", "Requests answered, by route and status.")
        for (operation, row) in sorted {
            for (index, counter) in row.statuses.enumerated() where counter.value > 0 {
                text.sample(
                    "larder_http_requests_total", [("route", operation), ("status", String(index + 100))], counter.value
                )
            }
        }
        text.begin(
            "larder_http_request_duration_seconds", "histogram", "Time from a request's head to its answer, by route.")
        for (operation, row) in sorted where row.durations.snapshot.cumulative.last! > 0 {
            text.histogram("larder_http_request_duration_seconds", [("route", operation)], row.durations)
        }
    }
}
