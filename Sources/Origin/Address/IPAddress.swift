import Glibc

/// An IPv4 or IPv6 address as a number.
package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    case v4(UInt32)
    /// An IPv6 address, without a zone.
    case v6(UInt128)

    /// Parses an address in its usual form: four decimal numbers, or a form of RFC 4291 §2.2 without brackets or zone.
    /// `nil` for any other text, including the short and octal spellings of IPv4.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self = .v4(UInt32(bigEndian: v4.s_addr))
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(v6)
        } else {
            return nil
        }
    }

    /// The address of a socket; `nil` when it belongs to another family.
    init?(_ address: UnsafePointer<sockaddr>) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = .v4(UInt32(bigEndian: raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6:
            self.init(raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default:
            return nil
        }
    }

    private init(_ address: in6_addr) {
        self = withUnsafeBytes(of: address) { bytes in
            .v6(bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) })
        }
    }

    /// The address in its usual form: `192.0.2.1`, `2001:db8::1`.
    package var description: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch self {
        case .v4(let number):
            var address = in_addr(s_addr: number.bigEndian)
            inet_ntop(AF_INET, &address, &buffer, socklen_t(buffer.count))
        case .v6(let number):
            withUnsafeBytes(of: number.bigEndian) {
                _ = inet_ntop(AF_INET6, $0.baseAddress!, &buffer, socklen_t(buffer.count))
            }
        }
        return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    /// Whether only this machine can reach the address: 127.0.0.0/8, ::1.
    package var isLoopback: Bool {
        switch self {
        case .v4(let number): number >> 24 == 127
        case .v6(let number): number == 1
        }
    }

    /// The IPv4 address in an IPv6 address, when packets to the IPv6 address can arrive at that IPv4 address: mapped
    /// and compatible addresses (RFC 4291 §2.5.5), NAT64 (RFC 6052 §2.1), 6to4 (RFC 3056 §2). `nil` for any other
    /// address.
    var embedded: IPAddress? {
        guard case .v6(let number) = self else { return nil }
        switch number >> 32 {
        case 0xffff, 0, 0x64_ff9b << 64: return number < 2 ? nil : .v4(UInt32(truncatingIfNeeded: number))
        default: return number >> 112 == 0x2002 ? .v4(UInt32(truncatingIfNeeded: number >> 80)) : nil
        }
    }

    /// The number of bits: 32 or 128.
    var bitCount: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }
}

/// A range of addresses with the same leading bits (RFC 4632 §3.1), such as `10.0.0.0/8`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The lowest address of the range.
    package let address: IPAddress
    /// The number of leading bits that all addresses of the range share.
    package let prefixLength: Int

    /// The range of the addresses that share the first `prefixLength` bits with `address`. `nil` when the address has
    /// fewer bits, or has bits set after the prefix.
    package init?(_ address: IPAddress, prefixLength: Int) {
        guard (0...address.bitCount).contains(prefixLength) else { return nil }
        self.address = address
        self.prefixLength = prefixLength
        guard Self.cut(address, to: prefixLength) == address else { return nil }
    }

    /// Whether the range contains the address. An IPv6 range contains no IPv4 address, and an IPv4 range no IPv6
    /// address.
    package func contains(_ other: IPAddress) -> Bool {
        Self.cut(other, to: prefixLength) == address
    }

    /// The range as text: `10.0.0.0/8`.
    package var description: String { "\(address)/\(prefixLength)" }

    static func cut(_ address: IPAddress, to prefixLength: Int) -> IPAddress {
        // A prefix of no bits needs a shift by the whole width, and Swift's smart shift then gives 0.
        switch address {
        case .v4(let number): .v4(number & ~(UInt32.max >> prefixLength))
        case .v6(let number): .v6(number & ~(UInt128.max >> prefixLength))
        }
    }
}
