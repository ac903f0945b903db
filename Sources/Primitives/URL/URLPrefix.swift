/// A prefix of canonical URLs, itself in canonical spelling. Filters compare it with the beginnings of URLs.
///
///     try URLPrefix("HTTP://Bücher.example:80/a/../m%c3%bc").string  // "http://xn--bcher-kva.example/m%C3%BC"
///
/// The comparison goes byte by byte. A host without a slash after it, as in `http://exam`, must already be in canonical
/// spelling, because a part of a host in another spelling could belong to several hosts.
package struct URLPrefix: Hashable, Sendable {
    package var string: String { strings[0] }
    /// All texts with which a matching canonical URL may begin, usually one. A host that ends with a dot has two more,
    /// because `http://www.` may be the beginning of a longer name, or a whole name with the dot of the DNS root.
    package let strings: [String]

    /// Throws ``InvalidURLPrefix``, which gives the reason in words for the caller.
    package init(_ text: String) throws(InvalidURLPrefix) {
        try Result { () throws(InvalidURL) in try CanonicalURL.checkCharacters(of: text) }
            .mapError(InvalidURLPrefix.url).get()
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
        let site = try Result { () throws(InvalidURL) in try CanonicalURL("\(scheme)://\(rest[..<end])/") }
            .mapError(InvalidURLPrefix.url).get()
        strings = [try "\(scheme)://" + site.authorityText + Self.target(String(rest[end...]))]
    }

    /// Returns the scheme in lower case and the text behind `://`.
    private static func split(_ text: String) -> (scheme: String, rest: Substring)? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: "://".utf8)
        else { return nil }
        let scheme = text[..<colon].lowercased()
        guard CanonicalURL.schemes.contains(scheme) else { return nil }
        return (scheme, Substring(text.utf8[colon...].dropFirst(3)))
    }

    /// Returns the canonical texts for the beginning of a host, or for a host and the beginning of a port.
    private static func authorities(_ text: String, scheme: String) throws(InvalidURLPrefix) -> [String] {
        guard !text.isEmpty else { return [""] }
        let host: String
        do throws(InvalidURL) {
            host = try CanonicalURL("\(scheme)://\(text)/").authorityText
        } catch {
            switch error {
            case .badPort, .tooLong: throw .url(error)
            default: throw .incompleteHost
            }
        }
        let lower = text.lowercased()
        if host == lower { return [lower] }
        if lower == host + "." { return [lower, host + "/", host + ":"] }
        // Whether the text is the beginning of an IPv4 address, such as `192.168.`.
        let isBegunAddress =
            lower.utf8.last == UInt8(ascii: ".") && lower.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
        guard isBegunAddress else { throw .otherHost("\(scheme)://\(host)/") }
        return [lower]
    }

    private static func target(_ text: String) throws(InvalidURLPrefix) -> String {
        let text = try Result { () throws(InvalidURL) in try URLPath.normalizeEscapes(text) }
            .mapError { _ in InvalidURLPrefix.brokenEscape }.get()
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        let (path, query) = (String(text[..<mark]), text[mark...])
        // The last segment may be incomplete if no slash follows it.
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last.map(
            Substring.init)
        guard !query.isEmpty || (last != "." && last != "..") else { throw .dotSegment }
        return URLPath.removeDotSegments(path) + query
    }
}

extension CanonicalURL {
    /// Returns a host in the spelling of the property ``host``. An IPv6 address may lack the brackets. Throws
    /// ``InvalidURLPrefix/port(_:)`` for a host with a port, else ``InvalidURLPrefix/url(_:)``.
    package static func host(_ text: String) throws(InvalidURLPrefix) -> String {
        let isBareAddress =
            text.utf8.first != UInt8(ascii: "[") && text.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1
        let text = isBareAddress ? "[\(text)]" : text
        guard !text.utf8.contains(where: { "/?#@\\".utf8.contains($0) }) else { throw .url(.badHost) }
        let url = try Result { () throws(InvalidURL) in try CanonicalURL("http://\(text)/") }
            .mapError(InvalidURLPrefix.url).get()
        let end = text.utf8.lastIndex(of: UInt8(ascii: "]")) ?? text.startIndex
        guard !text.utf8[end...].contains(UInt8(ascii: ":")) else { throw .port(url.string) }
        return url.host
    }
}

extension URLPrefix {
    /// Returns the beginnings of canonical URLs that a filter's text without a slash can mean. No text is refused,
    /// because any text may also begin a caller's key. In the table, `strings` means the ``strings`` of a prefix.
    ///
    /// | text | beginnings |
    /// |---|---|
    /// | `HTTP`, `https:` | the scheme in lower case: `http`, `https:` |
    /// | `http:a.example`, `http:\\a.example\` | `strings` of `http://a.example` or `http://a.example/`; the text |
    /// | `a.example:8080`, `[::1]:8080` | `strings` of this host and port with each scheme; the text |
    /// | any other | the text |
    package static func beginnings(withoutSlash text: String) -> [String] {
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
        // `name:1` is more likely a key. A host contains a dot, has brackets, or is `localhost`.
        guard !port.isEmpty, port.allSatisfy(\.isDigit),
            host.utf8.contains(UInt8(ascii: ".")) || host.hasPrefix("[") || host.lowercased() == "localhost"
        else { return [text] }
        return CanonicalURL.schemes.sorted().flatMap { whole("\($0)://\(text)") } + [text]
    }

    /// Returns the texts of a prefix. For a whole host in another spelling: the prefix of all URLs of this host.
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

package enum InvalidURLPrefix: Error, Hashable, Sendable, CustomStringConvertible {
    case noScheme
    case fragment
    case brokenEscape
    case dotSegment
    case incompleteHost
    /// The host or its port is not in canonical spelling. The value is the prefix in canonical spelling.
    case otherHost(String)
    /// Only a host is permitted; the value is the prefix of URLs with this host and port.
    case port(String)
    case url(InvalidURL)

    package var description: String {
        switch self {
        case .noScheme: "a prefix with a / must start with http://, https:// or ftp://"
        case .fragment: "entries have no URL fragments; leave out the # and the text after it"
        case .brokenEscape:
            "the prefix has a % without two hexadecimal digits after it; write % as %25, and complete each escape"
        case .dotSegment: "the prefix ends with a dot segment; leave it out, or complete the path"
        case .incompleteHost:
            "the host is invalid or incomplete; write the whole host and end it with a /, such as http://example.com/"
        case .otherHost(let prefix): "the host and port are stored in another spelling; use prefix \(prefix)"
        case .port(let prefix): "host must not contain a port; use prefix=\(prefix) to select a host and port"
        case .url(let error): error.description
        }
    }
}
