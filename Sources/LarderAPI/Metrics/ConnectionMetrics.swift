import Larder
import MicroHTTPD
import Primitives

/// A refused connection reaches no route, so ``RequestMetrics`` does not count it.
final class ConnectionMetrics: Sendable {
    private let overLimit = Counter()
    private let overAddressLimit = Counter()
    private let daemons = Locked<[Daemon]>([])

    /// Includes the bytes that this daemon sends.
    func watch(_ daemon: Daemon) {
        daemons.withLock { $0.append(daemon) }
    }

    func countRefusal(_ reason: ConnectionRefusal) {
        counter(of: reason).increment()
    }

    func write(into text: inout PrometheusText) {
        let name = "larder_connections_refused_total"
        text.begin(name, "counter", "Connections refused because a connection limit was reached, by reason.")
        // Both from the start, because Prometheus sees no increase in a counter that first appears with 1.
        for reason in ConnectionRefusal.allCases {
            text.sample(name, [("reason", reason.rawValue)], counter(of: reason).value)
        }
        text.metric(
            "larder_sent_bytes_total", "counter",
            "Bytes sent to clients on both ports: heads, bodies and TLS, as the kernel counts them.",
            daemons.withLock { $0 }.reduce(0) { $0 + $1.sentBytes })
    }

    private func counter(of reason: ConnectionRefusal) -> Counter {
        switch reason {
        case .limit: overLimit
        case .address: overAddressLimit
        }
    }
}
