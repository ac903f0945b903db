/// Where the origin client may connect to: what is globally routable, and what a rule lets through.
///
/// It is asked with the address itself, after DNS and before connecting, for every new connection: so no spelling of a
/// host, no redirect and no DNS answer gets around it.
public struct AddressPolicy: Hashable, Sendable {
    /// What is let through although it is not globally routable.
    public let allowed: [AddressRule]

    /// Lets through what is globally routable, and what one of the rules names; no rules by default.
    public init(allowing rules: [AddressRule] = []) {
        allowed = rules
    }

    /// Why a connection is refused, for example `127.0.0.1 is loopback (127.0.0.0/8)`; `nil` when it is allowed.
    ///
    /// - Parameter host: the host of the URL that led here, as it is written there; an IPv6 address may have brackets.
    public func refusal(of address: IPAddress, port: UInt16, host: String) -> String? {
        guard let entry = SpecialPurposeRanges.entry(for: address) else { return nil }
        let name = Self.comparable(host)
        let isAllowed = allowed.contains { rule in
            guard rule.port == nil || rule.port == port else { return false }
            return switch rule.target {
            case .range(let range): range.contains(address)
            case .host(let host): host == name
            }
        }
        return isAllowed ? nil : "\(address) is \(entry.purpose) (\(entry.range))"
    }

    /// A host name as it is compared: lower-case, and `example.com.` is `example.com`.
    static func comparable(_ host: String) -> String {
        let host = host.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
