import Glibc

/// Converts the host of a URL to its single stored spelling.
enum URLHost {
    /// Returns the canonical text of a host that libcurl has read: in lower case, an IPv6 address in the form of RFC
    /// 5952.
    ///
    /// libcurl keeps the spelling of an IPv6 address unless a shorter text exists, so an address would have several
    /// texts.
    ///
    /// - Throws: ``InvalidURL/badHost`` for a text that is neither an address nor a name of letters, digits, `-`, `.`
    ///   and `_`. libcurl accepts more characters, including `%`. Then another decoding of the canonical URL would
    ///   yield another host.
    static func canonical(_ text: String) throws(InvalidURL) -> String {
        if text.hasPrefix("["), text.hasSuffix("]") {
            guard let address = address(String(text.dropFirst().dropLast())) else { throw .badHost }
            return "[\(address)]"
        }
        let host = text.lowercased()
        guard !host.isEmpty, host.utf8.allSatisfy({ $0.isUnreserved && $0 != UInt8(ascii: "~") }) else {
            throw .badHost
        }
        return host
    }

    /// Removes the final dot of the DNS root from a host of ``canonical(_:)``: `example.com.` and `example.com` are the
    /// same name, and `127.1.` is the same address as `127.1`.
    ///
    /// - Throws: ``InvalidURL/badHost`` if the dot stands alone or follows another dot.
    static func withoutRootDot(_ host: String) throws(InvalidURL) -> String {
        guard host.utf8.last == UInt8(ascii: ".") else { return host }
        let name = host.utf8.dropLast()
        guard let last = name.last, last != UInt8(ascii: ".") else { throw .badHost }
        return try CurlURL.parse("http://\(Substring(name))/").host
    }

    /// Returns the host, and behind it `:` and the port unless the port is `nil`.
    static func authority(_ host: String, _ port: UInt16?) -> String {
        port.map { "\(host):\($0)" } ?? host
    }

    /// Whether a host of ``canonical(_:)`` may be an IPv4 address in another form than four decimal numbers, as in
    /// `127.1` and `0x7f000001`.
    static func mayBeNumbers(_ host: String) -> Bool {
        guard host.utf8.first?.isDigit == true else { return false }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) != 1
    }

    /// Returns the text of `inet_ntop` for the 16 bytes of an IPv6 address; `nil` if the text is no such address.
    private static func address(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) }
        }
    }
}
