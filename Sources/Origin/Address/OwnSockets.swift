import Glibc
import Primitives

/// The addresses and ports that this process listens on. A client that fetches any URL must not be sent there, whatever
/// rules let through: who asks the server to ask itself gets around whatever the server asks of others.
public final class OwnSockets: Sendable {
    private let ports = Locked<Set<UInt16>>([])

    /// None yet.
    public init() {}

    /// A socket listens on a port from now on. On which of the machine's addresses is not asked: a port that is ours on
    /// one and somebody else's on another is not worth a mistake.
    public func add(port: UInt16) {
        _ = ports.withLock { $0.insert(port) }
    }

    /// Why a connection to an address and port is refused: it would come out here; `nil` when it would not.
    func refusal(of address: IPAddress, port: UInt16) -> String? {
        ports.withLock { $0.contains(port) } && address.isOfThisMachine ? "it is this server" : nil
    }
}

extension IPAddress {
    /// Whether packets to it stay on this machine: loopback, the unspecified address, and those of its interfaces.
    var isOfThisMachine: Bool {
        if let embedded, embedded.isOfThisMachine { return true }
        if isLoopback || self == .v4(0) || self == .v6(0) { return true }
        var list: UnsafeMutablePointer<ifaddrs>?
        // Rather one refused too many.
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
