import Larder
import MicroHTTPD

/// Connections that were refused because there were too many: they come to no route, so no request is counted for them.
final class ConnectionMetrics: Sendable {
    private let overLimit = Counter()
    private let overAddressLimit = Counter()

    /// Counts a connection that was refused.
    func countRefusal(_ reason: ConnectionRefusal) {
        counter(of: reason).increment()
    }

    func write(into text: inout PrometheusText) {
        let name = "larder_connections_refused_total"
        text.begin(name, "counter", "Connections refused because there are as many as may be, by reason.")
        // Both from the start on: a counter that begins with 1 has not risen.
        for reason in ConnectionRefusal.allCases {
            text.sample(name, [("reason", reason.rawValue)], counter(of: reason).value)
        }
    }

    private func counter(of reason: ConnectionRefusal) -> Counter {
        switch reason {
        case .limit: overLimit
        case .address: overAddressLimit
        }
    }
}
