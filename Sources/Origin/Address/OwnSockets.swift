import Glibc
import Primitives

/// The ports on which this process listens. The client never connects to them, regardless of address rules, because a
/// request from the server to itself would bypass the checks that the server makes on its clients.
package final class OwnSockets: Sendable {
    private let ports = Locked<Set<UInt16>>([])

    package init() {}

    /// Adds a port on which this process listens. The port counts for every address of this machine, even when another
    /// process uses it on a different address, because a mistake here would be worse than a needless refusal.
    package func add(port: UInt16) {
        _ = ports.withLock { $0.insert(port) }
    }

    /// The reason why a connection is refused because it would lead to this process; `nil` when it would not.
    func refusal(of address: IPAddress, port: UInt16) -> String? {
        ports.withLock { $0.contains(port) } && address.isOfThisMachine ? "the address is this server's own" : nil
    }
}

extension IPAddress {
    /// Whether packets to the address stay on this machine: loopback, the unspecified address, and the addresses of its
    /// interfaces.
    var isOfThisMachine: Bool {
        if let embedded, embedded.isOfThisMachine { return true }
        if isLoopback || self == .v4(0) || self == .v6(0) { return true }
        var list: UnsafeMutablePointer<ifaddrs>?
        // A needless refusal is better than a wrong permission.
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let interface = next {
            if let address = interface.pointee.ifa_addr, IPAddress(address) == self { return true }
            next = interface.pointee.ifa_next
        }
        return false
    }
}
