/// The beginning of canonical URLs, in the one spelling that they have: filters by prefix compare it.
///
///     try URLPrefix("HTTP://Bücher.example:80/a/../m%c3%bc").string  // "http://xn--bcher-kva.example/m%C3%BC"
///
/// Path and query are compared byte by byte. So is a host that no slash ends, `http://exam`; but not one that is
/// written in another way than canonical URLs write it, because its beginning could mean several hosts.
public struct URLPrefix: Hashable, Sendable {
    /// The prefix, ASCII.
    public var string: String { strings[0] }
    /// All texts that a canonical URL may begin with, ASCII: one, and two more behind a host that ends with a dot,
    /// which may go on, `http://www.`, or be a whole name with the dot of the DNS root.
    public let strings: [String]

    /// - Throws: ``InvalidURLPrefix`` with the reason, in words for the caller.
    public init(_ text: String) throws(InvalidURLPrefix) {
        do throws(InvalidURL) {
            try CanonicalURL.checkCharacters(of: text)
        } catch {
            throw .url(error)
        }
        guard let (scheme, rest) = Self.split(text) else {
            let beginning = text.lowercased()
            guard CanonicalURL.schemes.contains(where: { "\($0)://".hasPrefix(beginning) }) else { throw .noScheme }
            strings = [beginning]
            return
        }
        guard !rest.utf8.contains(UInt8(ascii: "#")) else { throw .fragment }
        guard let end = rest.utf8.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            strings = try Self.authorities(String(rest), scheme: scheme).map { "\(scheme)://\($0)" }
            return
        }
        let site: CanonicalURL
        do throws(InvalidURL) {
            site = try CanonicalURL("\(scheme)://\(rest[..<end])/")
        } catch {
            throw .url(error)
        }
        strings = [try "\(scheme)://" + site.authorityText + Self.target(String(rest[end...]))]
    }

    /// The scheme in lower case, and the text behind `://`; `nil` without one of the schemes of canonical URLs.
    private static func split(_ text: String) -> (scheme: String, rest: Substring)? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: "://".utf8)
        else {
            return nil
        }
        let scheme = text[..<colon].lowercased()
        guard CanonicalURL.schemes.contains(scheme) else { return nil }
        return (scheme, Substring(text.utf8[colon...].dropFirst(3)))
    }

    /// The beginning of a host, or a host and the beginning of a port, in the texts that canonical URLs may have.
    private static func authorities(_ text: String, scheme: String) throws(InvalidURLPrefix) -> [String] {
        let lower = text.lowercased()
        if let whole = try? CanonicalURL("\(scheme)://\(text)/"), whole.authorityText != lower {
            let host = whole.authorityText
            if lower == host + "." { return [lower, host + "/", host + ":"] }
            // The beginning of an IPv4 address: `192.168.`.
            let isBegun =
                lower.utf8.last == UInt8(ascii: ".") && lower.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
            guard isBegun else { throw .otherHost("\(scheme)://\(host)/") }
        }
        let isAddress = lower.hasPrefix("[")
        guard !isAddress || lower.utf8.contains(UInt8(ascii: "]")),
            lower.utf8.allSatisfy({ byte in
                (URLPath.isUnreserved(byte) && byte != UInt8(ascii: "~")) || byte == UInt8(ascii: ":")
                    || (isAddress && (byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")))
            })
        else { throw .incompleteHost }
        return [lower]
    }

    /// The beginning of path and query.
    private static func target(_ text: String) throws(InvalidURLPrefix) -> String {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        let path, query: String
        do throws(InvalidURL) {
            path = try URLPath.normalizeEscapes(String(text[..<mark]))
            query = try URLPath.normalizeEscapes(String(text[mark...]))
        } catch {
            throw .brokenEscape
        }
        // A last segment that nothing ends is only begun.
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last.map(
            Substring.init)
        guard !query.isEmpty || (last != "." && last != "..") else { throw .dotSegment }
        return URLPath.removeDotSegments(path) + query
    }
}

extension CanonicalURL {
    /// A host in the spelling of canonical URLs, without the dot that may end a name: in lower case, a name in
    /// punycode, an IPv4 address in dotted form, an IPv6 address in brackets, with which it may come or without.
    ///
    /// - Throws: ``InvalidURLPrefix/port(_:)`` for a host with a port, else ``InvalidURLPrefix/url(_:)``.
    public static func host(_ text: String) throws(InvalidURLPrefix) -> String {
        let isBareAddress =
            text.utf8.first != UInt8(ascii: "[") && text.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1
        let text = isBareAddress ? "[\(text)]" : text
        guard !text.utf8.contains(where: { "/?#@\\".utf8.contains($0) }) else { throw .url(.badHost) }
        let url: CanonicalURL
        do throws(InvalidURL) {
            url = try CanonicalURL("http://\(text)/")
        } catch {
            throw .url(error)
        }
        let end = text.utf8.lastIndex(of: UInt8(ascii: "]")) ?? text.startIndex
        guard !text.utf8[end...].contains(UInt8(ascii: ":")) else { throw .port(url.string) }
        return url.host
    }
}

extension URLPrefix {
    /// The beginnings of canonical URLs that a text without a slash can mean. The text can also be the beginning of a
    /// caller's key, so it is never refused.
    ///
    /// | text | beginnings of URLs |
    /// |---|---|
    /// | `HTTP`, `https:` | the scheme in lower case |
    /// | `http:a.example`, `http:\\a.example\` | those of `http://a.example`, `http://a.example/` |
    /// | `a.example:8080`, `[::1]:8080` | those of the host and port with each scheme |
    /// | any other | the text itself |
    public static func beginnings(withoutSlash text: String) -> [String] {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            let scheme = text.lowercased()
            return [CanonicalURL.schemes.contains(scheme) ? scheme : text]
        }
        let firstColon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? colon
        let scheme = text[..<firstColon].lowercased()
        if CanonicalURL.schemes.contains(scheme) {
            let rest = Substring(text.utf8[firstColon...].dropFirst().drop { $0 == UInt8(ascii: "\\") })
            guard !rest.isEmpty else { return ["\(scheme):"] }
            return whole("\(scheme)://\(rest.replacing("\\", with: "/"))") + [text]
        }
        let (host, port) = (text[..<colon], text.utf8[colon...].dropFirst())
        // `name:1` is rather a key; a host has a dot, or brackets, or is this machine.
        guard !port.isEmpty, port.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            host.utf8.contains(UInt8(ascii: ".")) || host.hasPrefix("[") || host.lowercased() == "localhost"
        else { return [text] }
        return CanonicalURL.schemes.sorted().flatMap { whole("\($0)://\(text)") } + [text]
    }

    /// The texts of a prefix; of a host in another spelling, which must be whole, the prefix of all its URLs; none for
    /// a text that is no prefix.
    private static func whole(_ text: String) -> [String] {
        do throws(InvalidURLPrefix) {
            return try URLPrefix(text).strings
        } catch .otherHost(let prefix) {
            return [prefix]
        } catch {
            return []
        }
    }
}

/// Why a text is not the beginning of canonical URLs, or not a host.
public enum InvalidURLPrefix: Error, Hashable, Sendable, CustomStringConvertible {
    case noScheme
    case fragment
    case brokenEscape
    case dotSegment
    case incompleteHost
    /// The host or its port is written in another way than in canonical URLs, which is this one.
    case otherHost(String)
    /// There is a port where only a host may be; the prefix of URLs with both.
    case port(String)
    case url(InvalidURL)

    /// A sentence for the caller.
    public var description: String {
        switch self {
        case .noScheme: "a prefix with a / is the beginning of a URL: it starts with http://, https:// or ftp://"
        case .fragment: "no URL is kept with its fragment; leave out the # and what follows it"
        case .brokenEscape:
            "the prefix has a % without two hexadecimal digits behind it; write % as %25, and escapes whole"
        case .dotSegment: "the prefix ends with a dot segment; leave it out, or write what follows it"
        case .incompleteHost:
            "the host is none, or one that must be written whole: end it with a /, as in http://example.com/"
        case .otherHost(let prefix):
            "the host and port are kept in another spelling; the prefix of all its URLs is \(prefix)"
        case .port(let prefix): "a host has no port here; prefix=\(prefix) selects URLs with a host and a port"
        case .url(let error): error.description
        }
    }
}
