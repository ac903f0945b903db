import Foundation

/// As the kernel gave it. Small, trivial to copy, and converted to text only on demand.
struct RemoteAddress: Hashable {
    /// In network order, four or sixteen bytes.
    private var bytes: (UInt64, UInt64) = (0, 0)
    private var family = AF_UNSPEC

    init(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return }
        family = Int32(address.pointee.sa_family)
        let raw = UnsafeRawPointer(address)
        switch family {
        case AF_INET:
            withUnsafeMutableBytes(of: &bytes) { $0.copyMemory(from: UnsafeRawBufferPointer(start: raw + 4, count: 4)) }
        case AF_INET6:
            withUnsafeMutableBytes(of: &bytes) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: raw + 8, count: 16))
            }
            unmapIPv4()
        default:
            break
        }
    }

    /// `::ffff:a.b.c.d` is the address of an IPv4 client of a socket that serves both versions.
    private mutating func unmapIPv4() {
        let isMapped = withUnsafeBytes(of: bytes) { bytes in
            bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
        }
        guard isMapped else { return }
        family = AF_INET
        withUnsafeMutableBytes(of: &bytes) { bytes in
            for index in 0..<4 { bytes[index] = bytes[12 + index] }
            for index in 4..<16 { bytes[index] = 0 }
        }
    }

    static func == (left: RemoteAddress, right: RemoteAddress) -> Bool {
        left.bytes == right.bytes && left.family == right.family
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bytes.0)
        hasher.combine(bytes.1)
        hasher.combine(family)
    }

    /// `192.0.2.1` or `2001:db8::1`, without a port; empty if the address is not known.
    var text: String {
        guard family != AF_UNSPEC else { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            withUnsafeBytes(of: bytes) { bytes in
                guard inet_ntop(family, bytes.baseAddress, text.baseAddress, socklen_t(text.count)) != nil,
                    let start = text.baseAddress
                else { return "" }
                return String(cString: start)
            }
        }
    }
}
