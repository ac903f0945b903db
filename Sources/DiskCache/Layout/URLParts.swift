/// A canonical URL taken apart, for ``ReadablePath``.
///
/// Total: any text has parts, so that nothing that was stored once is without a path. It looks at bytes, because a `/`
/// with a combining accent behind it is another `Character`.
struct URLParts {
    var scheme = ""
    var host = ""
    /// The digits behind the host; `nil` without any.
    var port: String?
    /// What stands between the slashes of the path, behind the first one; at least one.
    var segments: [String] = [""]
    /// Whether there is a slash behind the host. A canonical URL has one.
    var hasPath = false
    /// What stands behind the first `?`; `nil` without one.
    var query: String?

    init(_ url: String) {
        var url = url
        self = url.withUTF8 { Self($0[...]) }
    }

    private init(_ url: Bytes) {
        var rest: Bytes
        (scheme, rest) = Self.schemeAndRest(of: url)
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

    /// The host of a URL, without the work of taking the rest apart.
    static func host(of url: String) -> String {
        var url = url
        return url.withUTF8 { url in
            let rest = afterScheme(of: url[...]) ?? url[...]
            return text(hostAndPort(rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }).host)
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    /// What stands before `://`, empty without that, and what follows it.
    private static func schemeAndRest(of url: Bytes) -> (scheme: String, rest: Bytes) {
        guard let rest = afterScheme(of: url) else { return ("", url) }
        return (text(url[..<(rest.startIndex - 3)]), rest)
    }

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
