import Glibc

package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    case v4(UInt32)
    /// An IPv6 address, without a zone.
    case v6(UInt128)

    /// Parses an address in its usual form: four decimal numbers, or a form of RFC 4291 §2.2 without brackets or zone.
    /// `nil` for any other text, including IPv4 addresses with fewer numbers or with octal numbers.
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

    /// `nil` for an address of another family.
    package init?(_ address: UnsafePointer<sockaddr>) {
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

    package var description: String {
        func text(_ family: Int32, _ number: some FixedWidthInteger) -> String {
            var number = number.bigEndian
            var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            inet_ntop(family, &number, &buffer, socklen_t(buffer.count))
            return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
        switch self {
        case .v4(let number): return text(AF_INET, number)
        case .v6(let number): return text(AF_INET6, number)
        }
    }

    package var isLoopback: Bool {
        switch self {
        case .v4(let number): number >> 24 == 127
        case .v6(let number): number == 1
        }
    }

    /// `a.b.c.d` for `::ffff:a.b.c.d`, the form in which a socket for IPv4 and IPv6 reports an IPv4 client.
    package var unmapped: IPAddress {
        guard case .v6(let number) = self, number >> 32 == 0xffff else { return self }
        return .v4(UInt32(truncatingIfNeeded: number))
    }

    /// The IPv4 address that an IPv6 address contains, and that packets to the IPv6 address can reach: in mapped and
    /// compatible addresses (RFC 4291 §2.5.5), NAT64 (RFC 6052 §2.1), and 6to4 (RFC 3056 §2).
    package var embedded: IPAddress? {
        guard case .v6(let number) = self else { return nil }
        switch number >> 32 {
        case 0xffff, 0, 0x64_ff9b << 64: return number < 2 ? nil : .v4(UInt32(truncatingIfNeeded: number))
        default: return number >> 112 == 0x2002 ? .v4(UInt32(truncatingIfNeeded: number >> 80)) : nil
        }
    }

    package var bitCount: Int { if case .v4 = self { 32 } else { 128 } }
}

package enum SocketAddress {
    /// The port to which a TCP socket is bound; `nil`, with the reason in `errno`, for another descriptor.
    package static func port(of descriptor: Int32) -> UInt16? {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &name) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return getsockname(descriptor, address, &length) == 0 ? port(in: address) : nil
        }
    }

    /// The port in an IPv4 or IPv6 address: `sin_port` and `sin6_port` have the same offset.
    package static func port(in address: UnsafePointer<sockaddr>) -> UInt16 {
        UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    }
}
