import Glibc
import Primitives

/// Decides to which addresses the origin client may connect: to globally routable addresses on a few ports, and to
/// addresses that a rule allows. The client checks each new connection after DNS and before connecting, so no spelling
/// of a host, no redirect and no DNS answer can get around the policy.
/// The checks have this order:
/// 1. A deny rule, except `*`, refuses.
/// 2. An allow rule allows, on any port unless the rule names a port.
/// 3. The deny rule `*` refuses the rest.
/// 4. An address that is not globally routable is refused, and so is a port outside ``ports``.
///
/// The metadata address of a cloud needs an allow rule for exactly this address; a rule for a range or a host name is
/// not enough. A narrowed policy allows an address only if a rule of ``only`` also matches it.
package struct AddressPolicy: Hashable, Sendable {
    package static let defaultPorts: Set<UInt16> = [80, 443]
    package let allowed: [AddressRule]
    package let denied: [AddressRule]
    package let ports: Set<UInt16>
    /// `nil` when the policy was not narrowed.
    package private(set) var only: [AddressRule]?

    package init(
        allowing allowed: [AddressRule] = [], denying denied: [AddressRule] = [],
        ports: Set<UInt16> = AddressPolicy.defaultPorts
    ) {
        self.allowed = allowed
        self.denied = denied
        self.ports = ports
    }

    package func narrowed(to rules: [AddressRule]) -> AddressPolicy {
        var policy = self
        policy.only = rules
        return policy
    }

    package enum Use: Hashable, Sendable {
        case request
        /// An FTP data connection, on the port that the server named. A rule for the port of the control connection
        /// applies to it, too. Ports below 1024, where other services listen, are refused.
        case data(controlPort: UInt16)
    }

    /// The reason why a connection is refused, for example `127.0.0.1 is loopback (127.0.0.0/8)`; `nil` when it is
    /// allowed. For a host name, the reason contains the name and not its address. `host` may have brackets.
    package func refusal(of address: IPAddress, port: UInt16, host: String, for use: Use = .request) -> String? {
        let name = AddressRule.comparable(host)
        if use != .request, port < 1024 { return "port \(port) is not allowed for FTP data" }
        var ports = [port]
        if case .data(let controlPort) = use { ports.append(controlPort) }
        // The IPv4 address that an IPv6 address contains is checked, too, because packets may go to the IPv4 address.
        let addresses = [address] + (address.embedded.map { [$0] } ?? [])
        func isMeant(_ address: IPAddress, by rule: AddressRule) -> Bool {
            rule.isFor(anyOf: ports) && rule.names(address, host: name)
        }
        func isAllowed(_ address: IPAddress) -> Bool {
            let isMetadata = SpecialPurposeRanges.metadata.contains(address)
            return allowed.contains { isMeant(address, by: $0) && (!isMetadata || $0.isOnly(address)) }
        }
        if let only, !only.contains(where: { isMeant(address, by: $0) }) { return Self.notAmong(name) }
        let denying = denied.first { rule in
            rule.target != .everything && addresses.contains { isMeant($0, by: rule) }
        }
        if let denying { return Self.words(name, deniedBy: denying) }
        // A contained IPv4 address must be globally routable or have an allow rule of its own.
        if isAllowed(address), addresses.dropFirst().allSatisfy({ isAllowed($0) || Self.trouble($0, name) == nil }) {
            return nil
        }
        if let rule = denied.first(where: { $0.target == .everything && $0.isFor(anyOf: ports) }) {
            return Self.words(name, deniedBy: rule)
        }
        return addresses.lazy.compactMap { Self.trouble($0, name) }.first
            ?? (use == .request ? trouble(ofPort: port) : nil)
    }

    /// The reason why a rule about host names refuses a host, which needs no DNS; `nil` when no such rule does.
    func refusal(ofHost host: String, port: UInt16) -> String? {
        let name = AddressRule.comparable(host)
        if let only, !only.contains(where: { $0.isFor(anyOf: [port]) && ($0.names(host: name) || $0.isRange) }) {
            return Self.notAmong(name)
        }
        return denied.first { $0.target != .everything && $0.isFor(anyOf: [port]) && $0.names(host: name) }
            .map { Self.words(name, deniedBy: $0) }
    }

    /// The reason why a host is refused for every address that it may have; `nil` when some address may be allowed.
    /// ``refusal(of:port:host:for:)`` may give a different reason for a specific address.
    func refusal(ofAnyAddressOf host: String, port: UInt16) -> String? {
        if let refusal = refusal(ofHost: host, port: port) { return refusal }
        let name = AddressRule.comparable(host)
        if allowed.contains(where: { $0.isFor(anyOf: [port]) && ($0.names(host: name) || $0.isRange) }) { return nil }
        let denying = denied.first { $0.target == .everything && $0.isFor(anyOf: [port]) }
        return denying.map { Self.words(name, deniedBy: $0) } ?? trouble(ofPort: port)
    }

    private func trouble(ofPort port: UInt16) -> String? {
        guard !ports.contains(port) else { return nil }
        return "port \(port) is not one of \(ports.sorted().map(String.init).joined(separator: ", "))"
    }

    private static func trouble(_ address: IPAddress, _ name: String) -> String? {
        if SpecialPurposeRanges.metadata.contains(address) { return "\(name) is a cloud metadata address" }
        return SpecialPurposeRanges.entry(for: address).map { "\(name) is \($0.purpose) (\($0.range))" }
    }

    private static func notAmong(_ name: String) -> String { "\(name) is not one of the namespace's origins" }
    private static func words(_ name: String, deniedBy rule: AddressRule) -> String { "\(name) is denied (\(rule))" }
}

/// The ports on which this process listens. The client never connects to these ports of this machine, because a request
/// from this server to itself would bypass the checks of its clients.
package final class OwnSockets: Sendable {
    private let ports = Locked<Set<UInt16>>([])

    package init() {}

    /// Refuses the port at every address of this machine, because a needless refusal is better than a wrong permission.
    package func add(port: UInt16) {
        _ = ports.withLock { $0.insert(port) }
    }

    /// The reason why a connection to this process is refused; `nil` for a connection to another process or machine.
    func refusal(of address: IPAddress, port: UInt16) -> String? {
        ports.withLock { $0.contains(port) } && address.isOfThisMachine ? "the address is this server's own" : nil
    }
}

extension IPAddress {
    /// Whether the address leads to this machine: loopback, the unspecified address, and its interfaces' addresses.
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
