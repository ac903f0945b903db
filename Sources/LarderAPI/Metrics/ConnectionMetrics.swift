import Larder
import MicroHTTPD
import Primitives

/// Connections that were refused because there were too many (they come to no route, so no request is counted for
/// them), and the bytes that were sent.
final class ConnectionMetrics: Sendable {
    private let overLimit = Counter()
    private let overAddressLimit = Counter()
    private let daemons = Locked<[Daemon]>([])

    /// Counts the bytes that a daemon sends.
    func watch(_ daemon: Daemon) {
        daemons.withLock { $0.append(daemon) }
    }

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
        text.metric(
            "larder_sent_bytes_total", "counter",
            "Bytes sent to clients, on either port: heads, bodies and TLS, as the kernel counts them.",
            daemons.withLock { $0 }.reduce(0) { $0 + $1.sentBytes })
    }

    private func counter(of reason: ConnectionRefusal) -> Counter {
        switch reason {
        case .limit: overLimit
        case .address: overAddressLimit
        }
    }
}
