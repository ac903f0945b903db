import Primitives

/// A URL as the client sent it, and the MD5 with which the keys of all responses to it begin, computed only once.
package struct ResponseURL: Hashable, Sendable {
    package let text: String
    let md5: String
    /// The last byte of the MD5: depends on the URL alone, and all 256 values are equally likely.
    package let spread: UInt8

    /// Takes a URL of any form, because the text is compared and never parsed.
    package init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// The canonical form of `url`; `nil` if `url` has it already, or has none. The host may have any spelling.
    private static func canonical(ofAny url: String) -> String? {
        guard let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }

    /// The canonical form of a stored URL; `nil` if the URL has it already. Most have it, and are not parsed.
    static func canonical(of url: String) -> String? {
        // Stored URLs differ from canonical ones only by escapes, dot segments, a bare `?` and a dot behind the host.
        let (slash, dot, colon) = (UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: ":"))
        var url = url
        let isPlain = url.withUTF8 { bytes in
            bytes.last != UInt8(ascii: "?") && !bytes.contains(UInt8(ascii: "%"))
                && !zip(bytes, bytes.dropFirst()).contains {
                    $0 == (slash, dot) || $0 == (dot, slash) || $0 == (dot, colon)
                }
        }
        return isPlain ? nil : canonical(ofAny: url)
    }

    /// The host of a stored URL's canonical URL, without its port.
    static func host(of url: String) -> String {
        let host = URLParts.host(of: url)
        // The host of a stored URL is canonical except for the dot of the DNS root at its end.
        guard host.utf8.last == UInt8(ascii: "."), let canonical = canonical(ofAny: url) else { return host }
        return URLParts.host(of: canonical)
    }
}

/// The parts of a canonical URL, for ``ReadablePath``. Every text has parts, so every stored entry has a path. The
/// parser works on bytes, because a `/` followed by a combining accent is a different `Character`.
struct URLParts {
    var scheme = ""
    var host = ""
    var port: String?
    /// The segments of the path, between its slashes; the first one starts behind the first slash. Never empty.
    var segments: [String] = [""]
    /// Whether the host is followed by a slash, as in every canonical URL.
    var hasPath = false
    /// The text behind the first `?`; `nil` when there is no `?`.
    var query: String?

    init(_ url: String) {
        var url = url
        self = url.withUTF8 { Self($0[...]) }
    }

    private init(_ url: Bytes) {
        // Without `://` the scheme is empty, and the rest is the whole URL.
        var rest = Self.afterScheme(of: url) ?? url
        scheme = Self.text(url[..<rest.startIndex].dropLast(3))
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = Self.text(rest[mark...].dropFirst())
            rest = rest[..<mark]
        }
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        hasPath = slash < rest.endIndex
        segments = rest[slash...].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Self.text)
        let (host, port) = Self.hostAndPort(rest[..<slash])
        (self.host, self.port) = (Self.text(host), port.map(Self.text))
    }

    /// Parses only the host, which is faster.
    static func host(of url: String) -> String {
        var url = url
        return url.withUTF8 { url in
            let rest = afterScheme(of: url[...]) ?? url[...]
            return text(hostAndPort(rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }).host)
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    /// `nil` without `://`.
    private static func afterScheme(of url: Bytes) -> Bytes? {
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return url[(colon + 3)...]
    }

    private static func hostAndPort(_ authority: Bytes) -> (host: Bytes, port: Bytes?) {
        var start = authority.endIndex
        while start > authority.startIndex, (0x30...0x39).contains(authority[start - 1]) { start -= 1 }
        guard start < authority.endIndex, start > authority.startIndex, authority[start - 1] == UInt8(ascii: ":") else {
            return (authority, nil)
        }
        return (authority[..<(start - 1)], authority[start...])
    }
}
