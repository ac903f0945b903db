/// An absolute `http` or `https` URL as a client sent it, in the spelling for the request to the origin. Path and query
/// stay byte for byte, including dot segments, double slashes, escapes and a bare `?`.
///
/// Only differences that cannot mean another resource are removed. Scheme and host are in lower case (the host in
/// punycode, an IPv6 address in its single text). A default port and the fragment are dropped, an empty path becomes
/// `/`, and non-ASCII characters, which no URL may contain, are escaped. A final dot of the host stays, because it is
/// part of the `Host` field. Use ``CanonicalURL`` where all spellings of a URL must become the same text.
package struct ExactURL: Hashable, Sendable {
    package static let schemes: Set<String> = ["http", "https"]

    /// The whole URL, ASCII.
    package let string: String
    /// `http` or `https`.
    package let scheme: String
    /// The host, and the port unless it is the default: `example.com`, `[::1]:8080`.
    package let authority: String
    /// Scheme and authority: `http://example.com`.
    package let site: String
    /// Path and query in the form of a request line.
    package let target: String

    /// Reads a URL. `http:/host` is read as `http://host`, because some clients and servers merge double slashes.
    ///
    /// - Throws: ``InvalidURL`` with the reason, in words for the caller.
    package init(_ text: String) throws(InvalidURL) {
        var text = Self.unfolded(text)
        try CanonicalURL.checkCharacters(of: text)
        let (beginning, target) = text.withUTF8(Self.split)
        let site = try KnownSites.shared.site(beginning) { beginning throws(InvalidURL) in
            try CanonicalURL.checkBytes(of: beginning)
            let parts = try CurlURL.parse(beginning)
            guard Self.schemes.contains(parts.scheme) else { throw .notHTTP(parts.scheme) }
            return KnownSites.Site(scheme: parts.scheme, authority: URLHost.authority(parts.host, parts.port))
        }
        scheme = site.scheme
        authority = site.authority
        self.site = site.text
        self.target = target
        string = site.text + target
        guard string.utf8.count <= CanonicalURL.maximumLength else {
            throw .tooLong(limit: CanonicalURL.maximumLength)
        }
    }

    /// Splits the text into scheme and authority as they were sent, and the rest up to the fragment.
    private static func split(_ bytes: UnsafeBufferPointer<UInt8>) -> (beginning: String, target: String) {
        let slashes = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        let end = bytes.dropFirst(slashes + 2).firstIndex(where: isEnd) ?? bytes.endIndex
        let beginning = String(decoding: bytes[..<end], as: UTF8.self)
        let rest = bytes[end...].prefix { $0 != UInt8(ascii: "#") }
        let escaped = String(escapingNonASCII: UnsafeBufferPointer(rebasing: rest))
        return (beginning, rest.first == UInt8(ascii: "/") ? escaped : "/" + escaped)
    }

    private static func isEnd(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func unfolded(_ text: String) -> String {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: ":/".utf8),
            !text.utf8[colon...].starts(with: "://".utf8), schemes.contains(text[..<colon].lowercased())
        else { return text }
        return "\(text[..<colon].lowercased())://\(Substring(text.utf8[colon...].dropFirst(2)))"
    }
}

extension String {
    /// Creates text from bytes, with each non-ASCII byte percent-encoded separately. The bytes need not be UTF-8, and
    /// different non-ASCII bytes stay different.
    @inlinable package init(escapingNonASCII bytes: some Sequence<UInt8>) {
        let plain = bytes.withContiguousStorageIfAvailable { bytes in
            bytes.contains { $0 >= 0x80 } ? nil : String(decoding: bytes, as: UTF8.self)
        }
        if let plain = plain ?? nil {
            self = plain
            return
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                PercentEscape.append(byte, to: &text)
            }
        }
        self.init(decoding: text, as: UTF8.self)
    }
}
