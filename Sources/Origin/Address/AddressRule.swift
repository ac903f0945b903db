import Primitives

/// A rule of `--allow-origin` and `--deny-origin`: `10.1.2.3`, `10.0.0.0/8`, `::1`, `fc00::/7`, `files.internal`,
/// `*.example.com` or `*`, each with an optional `:port`: `[::1]:8080`, `[fc00::/7]:443`.
package struct AddressRule: Hashable, Sendable, CustomStringConvertible {
    package enum Target: Hashable, Sendable {
        /// The addresses of a range, for all host names. A single address is a range of one address.
        case range(AddressRange)
        /// In lower case, without a dot at the end.
        case host(String)
        /// Every host name that ends in a dot followed by this name.
        case subdomains(of: String)
        case everything
    }

    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let rule: String
        package let reason: String

        package var description: String {
            "\"\(rule)\" is not an origin rule: \(reason) (expected an address, a CIDR range or a host name, each "
                + "with an optional :port, such as 10.0.0.0/8, [::1]:8080, files.internal, *.example.com)"
        }
    }

    package let target: Target
    /// `nil` for all ports.
    package let port: UInt16?
    /// The rule `*`.
    package static let everything = AddressRule(target: .everything)

    private init(target: Target) {
        self.target = target
        port = nil
    }

    /// White space around the rule is ignored.
    package init(_ text: String) throws(Malformed) {
        let text = String(text.trimmingSpace())
        func malformed(_ reason: String) -> Malformed { Malformed(rule: text, reason: reason) }
        guard !text.isEmpty else { throw malformed("the rule is empty") }
        guard !text.contains("://") else { throw malformed("the rule is a URL; leave out the scheme and the path") }
        let (name, portText): (Substring, Substring?)
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { throw malformed("the bracket is not closed") }
            let inside = text[text.index(after: text.startIndex)..<end]
            var rest = text[text.index(after: end)...]
            var prefix: Substring = ""
            if rest.first == "/" {
                prefix = rest.prefix { $0 != ":" }
                rest = rest.dropFirst(prefix.count)
            }
            guard rest.isEmpty || rest.first == ":" else { throw malformed("only :port may follow the bracket") }
            guard inside.contains(":") else { throw malformed("only an IPv6 address may be in brackets") }
            name = inside + prefix
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
            portText = text[text.index(after: colon)...]
        } else {
            name = text[...]
            portText = nil
        }
        port = portText.flatMap { UInt16(digits: $0) }
        guard portText == nil || port ?? 0 > 0 else { throw malformed("the port is not a number from 1 to 65535") }
        target = try Self.target(name, malformed)
    }

    private static func target(
        _ name: Substring, _ malformed: (String) -> Malformed
    ) throws(Malformed) -> Target {
        if name == "*" { return .everything }
        if name.hasPrefix("*.") {
            guard let parent = hostName(name.dropFirst(2)) else { throw malformed("only a host name follows \"*.\"") }
            return .subdomains(of: parent)
        }
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = IPAddress(parts[0]) {
            guard parts.count == 2 else { return .range(AddressRange(address, prefixLength: address.bitCount)!) }
            guard let number = Int64(digits: parts[1]), number <= address.bitCount else {
                throw malformed("the prefix length is not a number from 0 to \(address.bitCount)")
            }
            guard let range = AddressRange(address, prefixLength: Int(number)) else {
                let network = AddressRange.cut(address, to: Int(number))
                throw malformed("the address has bits set after the first \(number); write \(network)/\(number)")
            }
            return .range(range)
        }
        guard parts.count == 1 else { throw malformed("the address before the slash is missing") }
        guard let host = hostName(name) else {
            throw malformed("the rule is neither an address nor a host name of ASCII letters, digits, \"-\" and \".\"")
        }
        return .host(host)
    }

    /// `nil` when the text is not a host name, or is a number that some programs read as an IPv4 address.
    private static func hostName(_ name: Substring) -> String? {
        let name = comparable(String(name))
        guard !name.isEmpty, name.utf8.count <= 253 else { return nil }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.first != 0x2d && label.utf8.last != 0x2d
                && label.utf8.allSatisfy { (0x61...0x7a).contains($0) || $0.isDigit || $0 == 0x2d || $0 == 0x5f }
        }
        let last = labels.last!
        let isNumeric = last.utf8.allSatisfy(\.isDigit) || last.hasPrefix("0x")
        return areLabels && !isNumeric ? name : nil
    }

    /// A host name in the form in which names are compared: in lower case, and `example.com.` becomes `example.com`.
    static func comparable(_ host: String) -> String {
        let host = host.lowercased()
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    func isFor(anyOf ports: [UInt16]) -> Bool { port.map(ports.contains) ?? true }

    /// Whether the rule matches an address of a host, at any port. `host` is the result of ``comparable(_:)``.
    func names(_ address: IPAddress, host: String) -> Bool {
        if case .range(let range) = target { return range.contains(address) }
        return names(host: host)
    }

    /// Whether the rule matches all addresses of a host. `host` is the result of ``comparable(_:)``.
    func names(host: String) -> Bool {
        switch target {
        case .range: false
        case .host(let name): name == host
        case .subdomains(let parent): host.utf8.count > parent.utf8.count + 1 && host.hasSuffix("." + parent)
        case .everything: true
        }
    }

    var isRange: Bool { if case .range = target { true } else { false } }

    func isOnly(_ address: IPAddress) -> Bool {
        if case .range(let range) = target { return range.prefixLength == address.bitCount && range.address == address }
        return false
    }

    package var description: String {
        let name: String
        switch target {
        case .host(let host): name = host
        case .subdomains(let parent): name = "*.\(parent)"
        case .everything: name = "*"
        case .range(let range):
            let isSingle = range.prefixLength == range.address.bitCount
            let text = isSingle ? range.address.description : range.description
            if case .v6 = range.address, port != nil { name = "[\(text)]" } else { name = text }
        }
        return port.map { "\(name):\($0)" } ?? name
    }
}

/// A range of addresses with the same leading bits (RFC 4632 §3.1), such as `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The lowest address of the range.
    package let address: IPAddress
    package let prefixLength: Int

    /// `nil` when the prefix is longer than the address, or when the address has bits set after the prefix.
    package init?(_ address: IPAddress, prefixLength: Int) {
        guard (0...address.bitCount).contains(prefixLength) else { return nil }
        self.address = address
        self.prefixLength = prefixLength
        guard Self.cut(address, to: prefixLength) == address else { return nil }
    }

    /// An IPv6 range contains no IPv4 address, and an IPv4 range no IPv6 address.
    package func contains(_ other: IPAddress) -> Bool { Self.cut(other, to: prefixLength) == address }
    package var description: String { "\(address)/\(prefixLength)" }

    static func cut(_ address: IPAddress, to prefixLength: Int) -> IPAddress {
        // For a prefix of no bits, the shift has the full width, for which Swift's smart shift gives 0.
        switch address {
        case .v4(let number): .v4(number & ~(UInt32.max >> prefixLength))
        case .v6(let number): .v6(number & ~(UInt128.max >> prefixLength))
        }
    }
}

/// The addresses that are not globally routable: the IANA special-purpose address registries (RFC 6890), and further
/// ranges that lead to this machine, its network or its cloud.
enum SpecialPurposeRanges {
    struct Entry: Sendable {
        let range: AddressRange
        let purpose: String
    }

    /// `nil` when the address is globally routable.
    static func entry(for address: IPAddress) -> Entry? {
        switch address {
        case .v4: v4.first { $0.range.contains(address) }
        case .v6: v6.first { $0.range.contains(address) } ?? (globalUnicast.contains(address) ? nil : unassigned)
        }
    }

    /// The addresses at which a cloud gives out the identity and the credentials of the machine. They are in ranges
    /// that operators allow for other reasons, such as a cluster's own network or shared address space.
    static let metadata: Set<IPAddress> = Set(
        [
            // AWS, Azure, Google, Oracle, DigitalOcean and others; AWS tasks and pods; the IPv6 addresses of these.
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
            // Azure's platform, Alibaba and Oracle.
            "168.63.129.16", "100.100.100.200", "192.0.0.192",
        ].map { IPAddress($0)! })

    static let v4 = [
        entry("0.0.0.0", 8, "this network"),
        entry("10.0.0.0", 8, "private"),
        entry("100.64.0.0", 10, "shared address space (carrier-grade NAT)"),
        entry("127.0.0.0", 8, "loopback"),
        entry("169.254.0.0", 16, "link-local"),
        entry("172.16.0.0", 12, "private"),
        entry("192.0.0.0", 24, "IETF protocol assignments"),
        entry("192.0.2.0", 24, "documentation"),
        entry("192.31.196.0", 24, "AS112"),
        entry("192.52.193.0", 24, "automatic multicast tunneling"),
        entry("192.88.99.0", 24, "6to4 relay anycast"),
        entry("192.168.0.0", 16, "private"),
        entry("192.175.48.0", 24, "AS112"),
        entry("198.18.0.0", 15, "benchmarking"),
        entry("198.51.100.0", 24, "documentation"),
        entry("203.0.113.0", 24, "documentation"),
        entry("224.0.0.0", 4, "multicast"),
        entry("255.255.255.255", 32, "broadcast"),
        entry("240.0.0.0", 4, "reserved"),
    ]

    static let v6 = [
        entry("::", 128, "the unspecified address"),
        entry("::1", 128, "loopback"),
        entry("::ffff:0:0", 96, "IPv4-mapped"),
        entry("::", 96, "IPv4-compatible"),
        entry("64:ff9b::", 96, "NAT64"),
        entry("64:ff9b:1::", 48, "NAT64"),
        entry("100::", 64, "discard-only"),
        entry("2001::", 32, "Teredo"),
        entry("2001::", 23, "IETF protocol assignments"),
        entry("2001:db8::", 32, "documentation"),
        entry("2002::", 16, "6to4"),
        entry("2620:4f:8000::", 48, "AS112"),
        entry("3fff::", 20, "documentation"),
        entry("5f00::", 16, "segment routing"),
        entry("fc00::", 7, "unique local (private)"),
        entry("fe80::", 10, "link-local"),
        entry("fec0::", 10, "site-local"),
        entry("ff00::", 8, "multicast"),
    ]

    /// The only range with assigned global unicast addresses (RFC 4291 §2.4 and the IANA registry).
    private static let globalUnicast = AddressRange(IPAddress("2000::")!, prefixLength: 3)!
    private static let unassigned = entry("::", 0, "not assigned for global use")

    private static func entry(_ address: String, _ prefixLength: Int, _ purpose: String) -> Entry {
        Entry(range: AddressRange(IPAddress(address)!, prefixLength: prefixLength)!, purpose: purpose)
    }
}
