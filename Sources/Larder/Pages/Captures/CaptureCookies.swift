import WebArchive

/// The cookies of one capture (RFC 6265). They live as long as the capture. A cookie goes only to the exact host that
/// set it, and its `Domain` does not count, so no list of public suffixes is needed. Expiry dates do not count, because
/// a capture is short.
struct CaptureCookies: Sendable {
    private struct Cookie {
        var host: String
        var name: String
        var value: String
        var path: String
        var isSecure: Bool
        /// For a cookie of the caller: the only origin that gets it.
        var origin: String?
    }

    private var cookies: [Cookie] = []
    /// The most cookies of a capture. Later ones are ignored.
    private static let limit = 200
    /// The most bytes of a name and a value together (RFC 6265 §6.1).
    private static let lengthLimit = 4096

    /// Takes a caller's own `NAME=VALUE`, which only the page's origin gets.
    mutating func setOwn(_ cookie: String, for page: WebURL) {
        set(cookie + "; Path=/", by: page, onlyFor: page.origin)
    }

    /// Takes a `Set-Cookie` line of an answer (RFC 6265 §5.2).
    mutating func set(_ line: String, by url: WebURL) { set(line, by: url, onlyFor: nil) }

    private mutating func set(_ line: String, by url: WebURL, onlyFor origin: String?) {
        var parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map { Substring($0).trimmingSpace() }
        let pair = parts.removeFirst()
        guard let sign = pair.utf8.firstIndex(of: UInt8(ascii: "=")), pair.utf8.count <= Self.lengthLimit else {
            return
        }
        let name = pair[..<sign].trimmingSpace()
        let value = pair[pair.utf8.index(after: sign)...].trimmingSpace()
        guard !name.isEmpty else { return }
        var cookie = Cookie(
            host: Self.host(of: url), name: String(name), value: String(value), path: Self.path(of: url),
            isSecure: false)
        cookie.origin = origin
        var isRemoved = false
        for part in parts {
            let attribute = part.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1).map { String(Substring($0)) }
            switch attribute.first?.lowercased() {
            case "secure": cookie.isSecure = true
            case "path" where attribute.count == 2 && attribute[1].hasPrefix("/"): cookie.path = attribute[1]
            case "max-age" where attribute.count == 2: isRemoved = Int(attribute[1]).map { $0 <= 0 } ?? false
            default: break
            }
        }
        cookies.removeAll { $0.host == cookie.host && $0.name == cookie.name && $0.path == cookie.path }
        if !isRemoved, cookies.count < Self.limit { cookies.append(cookie) }
    }

    /// The value of `Cookie` for a request; `nil` without a cookie. Longer paths come first (RFC 6265 §5.4).
    func header(for url: WebURL) -> String? {
        let sent = cookies.filter { cookie in
            cookie.host == Self.host(of: url) && cookie.origin ?? url.origin == url.origin
                && (!cookie.isSecure || url.scheme == "https")
                && Self.matches(url.path, cookie.path)
        }
        if sent.isEmpty { return nil }
        return sent.sorted { $0.path.utf8.count > $1.path.utf8.count }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "; ")
    }

    /// Joins the value of a browser's `Cookie` with that of ``header(for:)``. A name that the browser has counts once.
    static func joined(_ browser: String?, _ own: String) -> String {
        guard let browser else { return own }
        func name(_ cookie: Substring) -> Substring { cookie.prefix { $0 != "=" } }
        let names = Set(browser.split(separator: "; ").map(name))
        return ([browser[...]] + own.split(separator: "; ").filter { !names.contains(name($0)) }).joined(
            separator: "; ")
    }

    /// RFC 6265 §5.1.4.
    private static func matches(_ path: String, _ cookiePath: String) -> Bool {
        guard path.utf8.starts(with: cookiePath.utf8) else { return false }
        return path.utf8.count == cookiePath.utf8.count || cookiePath.hasSuffix("/")
            || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
    }

    /// The default path: that of the URL up to its last slash, or `/`.
    private static func path(of url: WebURL) -> String {
        let end = url.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? url.path.startIndex
        return end == url.path.startIndex ? "/" : String(url.path[..<end])
    }

    /// Without the port, which cookies ignore (RFC 6265 §8.5).
    private static func host(of url: WebURL) -> String {
        let authority = url.authority
        guard let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
            authority[authority.utf8.index(after: colon)...].utf8.allSatisfy(\.isDigit)
        else { return authority }
        return String(authority[..<colon])
    }
}
