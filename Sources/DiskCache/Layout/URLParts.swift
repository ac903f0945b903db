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
        var rest: Substring.UTF8View
        (scheme, rest) = Self.schemeAndRest(of: url)
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = String(Substring(rest[mark...].dropFirst()))
            rest = rest[..<mark]
        }
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        hasPath = slash < rest.endIndex
        segments = rest[slash...].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }

        (host, port) = Self.hostAndPort(rest[..<slash])
    }

    /// The host of a URL, without the work of taking the rest apart.
    static func host(of url: String) -> String {
        let authority = schemeAndRest(of: url).rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return hostAndPort(authority).host
    }

    /// What stands before `://`, empty without that, and what follows it.
    private static func schemeAndRest(of url: String) -> (scheme: String, rest: Substring.UTF8View) {
        let all = Substring(url).utf8
        guard let colon = all.firstIndex(of: UInt8(ascii: ":")), all[colon...].starts(with: "://".utf8) else {
            return ("", all)
        }
        return (String(Substring(all[..<colon])), all[colon...].dropFirst(3))
    }

    private static func hostAndPort(_ authority: Substring.UTF8View) -> (host: String, port: String?) {
        let digits = authority.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
        let beforePort = authority.dropLast(digits)
        guard digits > 0, beforePort.last == UInt8(ascii: ":") else { return (String(Substring(authority)), nil) }
        return (String(Substring(beforePort.dropLast())), String(Substring(authority.suffix(digits))))
    }
}
