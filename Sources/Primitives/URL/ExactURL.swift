/// An absolute `http` or `https` URL as somebody sent it, in the spelling in which it is asked for: path and query stay
/// byte for byte, dot segments, double slashes, escapes and a bare `?` included.
///
/// Only what cannot mean another resource is made uniform: scheme and host are lower-case (the host in punycode), a
/// default port and the fragment are dropped, an empty path is `/`, and what no URL may contain, non-ASCII, is escaped.
/// ``CanonicalURL`` is for those who want URLs with one meaning to have one spelling.
public struct ExactURL: Hashable, Sendable {
    /// The schemes that there can be.
    public static let schemes: Set<String> = ["http", "https"]

    /// The whole URL, ASCII.
    public let string: String
    /// `http` or `https`.
    public let scheme: String
    /// Host and, when it is not the default, port: `example.com`, `[::1]:8080`.
    public let authority: String
    /// Path and query, as they stand in a request line.
    public let target: String

    /// Reads a URL. `http:/host`, which clients and servers that fold double slashes make of `http://host`, is read as
    /// that.
    ///
    /// - Throws: ``InvalidURL`` with the reason, in words for the caller.
    public init(_ text: String) throws(InvalidURL) {
        let text = Self.unfolded(text)
        try CanonicalURL.checkBytes(of: text)
        let parts = try CurlURL.parse(text)
        guard Self.schemes.contains(parts.scheme) else { throw .notHTTP(parts.scheme) }
        let host = parts.host.lowercased()
        guard CanonicalURL.isHost(host) else { throw .badHost }
        scheme = parts.scheme
        authority = parts.port.map { "\(host):\($0)" } ?? host
        target = try Self.target(of: text)
        string = scheme + "://" + authority + target
        guard string.utf8.count <= CanonicalURL.maximumLength else {
            throw .tooLong(limit: CanonicalURL.maximumLength)
        }
    }

    /// What follows the authority, up to the fragment.
    private static func target(of text: String) throws(InvalidURL) -> String {
        let bytes = text.utf8
        guard let slashes = bytes.firstIndex(of: UInt8(ascii: "/")) else { throw .noHost }
        let authority = bytes[bytes.index(slashes, offsetBy: 2)...]
        let isEnd: (UInt8) -> Bool = { "/?#".utf8.contains($0) }
        guard let start = authority.firstIndex(where: isEnd) else { return "/" }
        let rest = bytes[start...].prefix { $0 != UInt8(ascii: "#") }
        let escaped = String(escapingNonASCII: rest)
        return escaped.utf8.first == UInt8(ascii: "/") ? escaped : "/" + escaped
    }

    private static func unfolded(_ text: String) -> String {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: ":/".utf8),
            !text.utf8[colon...].starts(with: "://".utf8), schemes.contains(text[..<colon].lowercased())
        else { return text }
        return "\(text[..<colon].lowercased())://\(Substring(text.utf8[colon...].dropFirst(2)))"
    }
}

extension String {
    /// The bytes as text, with every one that is not ASCII percent-encoded for itself: they need not be UTF-8, and two
    /// that differ never become one.
    @inlinable public init(escapingNonASCII bytes: some Sequence<UInt8>) {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                text += "%\(String(byte, radix: 16, uppercase: true))".utf8
            }
        }
        self.init(decoding: text, as: UTF8.self)
    }
}
