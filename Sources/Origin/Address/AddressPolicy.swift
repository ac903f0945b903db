/// Where the origin client may connect to: what is globally routable, on a few ports, and what a rule lets through.
///
/// It is asked with the address itself, after DNS and before connecting, for every new connection: so no spelling of a
/// host, no redirect and no DNS answer gets around it. What names or numbers a host in its URL is asked before DNS.
///
/// In this order: what a rule denies is refused; what a rule allows is let through, on any port unless the rule names
/// one; what is left is refused when a rule denies everything; an address that is not globally routable is refused, and
/// so is a port that is not among ``ports``. A cloud's metadata is only let through by a rule that is its very address,
/// not by a range or a name that leads there. One that was narrowed lets through what it did before, as far as one of
/// its rules names it.
public struct AddressPolicy: Hashable, Sendable {
    /// HTTP's and HTTPS's own: 80 and 443.
    public static let defaultPorts: Set<UInt16> = [80, 443]

    /// What is let through although it is not globally routable, or has another port.
    public let allowed: [AddressRule]
    /// What is refused whatever else lets it through; of a rule that denies everything: what nothing else lets through.
    public let denied: [AddressRule]
    /// The ports that may be asked where no rule says more.
    public let ports: Set<UInt16>
    /// Nothing is asked but what one of these names; `nil`: there is no such rule.
    public private(set) var only: [AddressRule]?

    /// Lets through what is globally routable and has one of the ports, and what one of the rules names, but nothing
    /// that is denied; no rules by default.
    public init(
        allowing allowed: [AddressRule] = [], denying denied: [AddressRule] = [],
        ports: Set<UInt16> = AddressPolicy.defaultPorts
    ) {
        self.allowed = allowed
        self.denied = denied
        self.ports = ports
    }

    /// The same policy for who may ask no others than these origins.
    public func narrowed(to rules: [AddressRule]) -> AddressPolicy {
        var policy = self
        policy.only = rules
        return policy
    }

    /// What a connection is for.
    public enum Use: Hashable, Sendable {
        /// To ask for something; the port counts.
        case request
        /// FTP's data, on the port that the server named: where a rule allows, it counts as the port that was asked,
        /// but ports below 1024, where other services listen, are refused.
        case data(controlPort: UInt16)
    }

    /// Why a connection is refused, for example `127.0.0.1 is loopback (127.0.0.0/8)`; `nil` when it is allowed. It
    /// names the host as it was asked for, so it says no more of where that leads than the rule does.
    ///
    /// - Parameter host: the host of the URL that led here, as it is written there; an IPv6 address may have brackets.
    public func refusal(of address: IPAddress, port: UInt16, host: String, for use: Use = .request) -> String? {
        let name = AddressRule.comparable(host)
        if use != .request, port < 1024 { return "port \(port) is not for FTP's data" }
        var ports = [port]
        if case .data(let controlPort) = use { ports.append(controlPort) }
        // One within another gets nowhere that the other may not go.
        let addresses = [address] + (address.embedded.map { [$0] } ?? [])
        func isMeant(_ address: IPAddress, by rule: AddressRule) -> Bool {
            rule.isFor(anyOf: ports) && rule.names(address, host: name)
        }
        func isAllowed(_ address: IPAddress) -> Bool {
            let isMetadata = SpecialPurposeRanges.isMetadata(address)
            return allowed.contains { isMeant(address, by: $0) && (!isMetadata || $0.isOnly(address)) }
        }
        if let only, !only.contains(where: { isMeant(address, by: $0) }) { return Self.notAmong(name) }
        let denying = denied.first { rule in
            rule.target != .everything && addresses.contains { isMeant($0, by: rule) }
        }
        if let denying { return Self.words(name, deniedBy: denying) }
        // Of an address within another it is enough that nothing is wrong with it.
        if isAllowed(address), addresses.dropFirst().allSatisfy({ isAllowed($0) || Self.trouble($0, name) == nil }) {
            return nil
        }
        if let rule = denied.first(where: { $0.target == .everything && $0.isFor(anyOf: ports) }) {
            return Self.words(name, deniedBy: rule)
        }
        if let trouble = addresses.lazy.compactMap({ Self.trouble($0, name) }).first { return trouble }
        return use == .request ? trouble(ofPort: port) : nil
    }

    /// Why a URL's host is refused whatever its addresses are; `nil` when they decide.
    func refusal(ofHost host: String, port: UInt16) -> String? {
        let name = AddressRule.comparable(host)
        if let only, !only.contains(where: { $0.isFor(anyOf: [port]) && ($0.names(host: name) || $0.isRange) }) {
            return Self.notAmong(name)
        }
        return denied.first { $0.target != .everything && $0.isFor(anyOf: [port]) && $0.names(host: name) }
            .map { Self.words(name, deniedBy: $0) }
    }

    /// Why a URL's host would be refused by whatever address it had; `nil` when there may be one that is let through.
    /// An address that is refused for more than this is refused in the words of that.
    func refusal(ofAnyAddressOf host: String, port: UInt16) -> String? {
        if let refusal = refusal(ofHost: host, port: port) { return refusal }
        let name = AddressRule.comparable(host)
        let mayBeAllowed = allowed.contains { $0.isFor(anyOf: [port]) && ($0.names(host: name) || $0.isRange) }
        if mayBeAllowed { return nil }
        let denying = denied.first { $0.target == .everything && $0.isFor(anyOf: [port]) }
        return denying.map { Self.words(name, deniedBy: $0) } ?? trouble(ofPort: port)
    }

    private func trouble(ofPort port: UInt16) -> String? {
        guard !ports.contains(port) else { return nil }
        return "port \(port) is not among \(ports.sorted().map(String.init).joined(separator: ", "))"
    }

    private static func trouble(_ address: IPAddress, _ name: String) -> String? {
        if SpecialPurposeRanges.isMetadata(address) { return "\(name) is a cloud's metadata" }
        return SpecialPurposeRanges.entry(for: address).map { "\(name) is \($0.purpose) (\($0.range))" }
    }

    private static func notAmong(_ name: String) -> String { "\(name) is not among the namespace's origins" }

    private static func words(_ name: String, deniedBy rule: AddressRule) -> String { "\(name) is denied (\(rule))" }
}
