import Glibc

/// The host of a URL in the one spelling that is kept.
enum URLHost {
    /// A host as libcurl reads it, in lower case, an IPv6 address in its one text (RFC 5952).
    ///
    /// libcurl keeps an IPv6 address as it was written unless another text of it is shorter, so one address would have
    /// several.
    ///
    /// - Throws: ``InvalidURL/badHost`` for a text that is neither a name of letters, digits, `-`, `.` and `_` nor an
    ///   address. libcurl lets more pass, a `%` among it; the canonical URL would then be decoded once more and name
    ///   another host.
    static func canonical(_ text: String) throws(InvalidURL) -> String {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = address(String(text.dropFirst().dropLast())) else { throw .badHost }
            return "[\(address)]"
        }
        let host = text.lowercased()
        guard !host.isEmpty, host.utf8.allSatisfy({ URLPath.isUnreserved($0) && $0 != UInt8(ascii: "~") }) else {
            throw .badHost
        }
        return host
    }

    /// A host of ``canonical(_:)`` without the dot of the DNS root at its end: `example.com.` and `example.com` are one
    /// name, and `127.1.` is an address as `127.1` is.
    ///
    /// - Throws: ``InvalidURL/badHost`` when nothing, or another dot, stands before the dot.
    static func withoutRootDot(_ host: String) throws(InvalidURL) -> String {
        guard host.utf8.last == UInt8(ascii: ".") else { return host }
        let name = host.utf8.dropLast()
        guard let last = name.last, last != UInt8(ascii: ".") else { throw .badHost }
        return try CurlURL.parse("http://\(Substring(name))/").host
    }

    /// The text that `inet_ntop` makes of the 16 bytes; `nil` for a text that is no IPv6 address.
    private static func address(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) }
        }
    }
}
