import Primitives

/// A range of addresses with the same leading bits (RFC 4632 §3.1), such as `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The lowest address of the range.
    package let address: IPAddress
    package let prefixLength: Int

    /// `nil` when the address has fewer bits than the prefix, or has bits set after it.
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
        // A prefix of no bits needs a shift by the whole width, and Swift's smart shift then gives 0.
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

    /// The addresses at which a cloud gives out the identity and the credentials of the machine. They lie in ranges
    /// that operators allow for other reasons, such as a cluster's own network or shared address space.
    static let metadata: Set<IPAddress> = Set(
        [
            // AWS, Azure, Google, Oracle, DigitalOcean and others; tasks and pods at AWS; their IPv6 addresses.
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

    /// The only range from which global unicast addresses have been assigned (RFC 4291 §2.4 and the IANA registry).
    private static let globalUnicast = AddressRange(IPAddress("2000::")!, prefixLength: 3)!
    private static let unassigned = entry("::", 0, "not assigned for global use")

    private static func entry(_ address: String, _ prefixLength: Int, _ purpose: String) -> Entry {
        Entry(range: AddressRange(IPAddress(address)!, prefixLength: prefixLength)!, purpose: purpose)
    }
}
