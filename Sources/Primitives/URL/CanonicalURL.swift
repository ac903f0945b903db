/// An absolute URL in the single spelling from which its key is computed.
///
///     try CanonicalURL("HTTP://Example.com:80/a/../b?c=%7e#d").string  // "http://example.com/b?c=~"
///
/// Scheme and host are in lower case. A host name is in punycode, without the final dot of the DNS root. An IP address
/// has a single spelling (RFC 5952 for IPv6). A default port and the fragment are dropped, and the path is at least
/// `/`. In path and query, percent-escapes are in upper case, unreserved characters are not escaped, and non-ASCII
/// characters are escaped; then the dot segments are resolved. Case, order and `+` stay (RFC 3986 §6.2.2, §6.2.3).
/// Parameters follow the URL's own query. libcurl splits the URL, so the checked URL is the downloaded URL.
package struct CanonicalURL: Hashable, Sendable {
    /// The most bytes of an accepted URL, both in its original and in its canonical spelling.
    package static let maximumLength = 8192
    /// The schemes that a URL may have. `OriginConfiguration.schemes` states which of them are *allowed*.
    package static let schemes: Set<String> = ["http", "https", "ftp"]

    package let string: String
    /// For the request to the origin. In contrast to ``string``, keeps the query's original escapes, which may be part
    /// of a signature, and the final dot of the host, which the origin may distinguish.
    package let requestURL: String
    package let scheme: String
    /// An IPv6 address has brackets.
    package let host: String
    /// `nil` for the scheme's default.
    package let port: UInt16?
    package let path: String
    package let query: String?

    /// Reads a URL, and appends the parameters to its query (``URLParameters/formEncoded``).
    package init(_ text: String, params: URLParameters = URLParameters()) throws(InvalidURL) {
        try Self.checkBytes(of: text)
        let parts = try CurlURL.parse(text)
        guard Self.schemes.contains(parts.scheme) else { throw .unsupportedScheme(parts.scheme) }
        scheme = parts.scheme
        host = try URLHost.withoutRootDot(parts.host)
        port = parts.port
        path = URLPath.removeDotSegments(try URLPath.normalizeEscapes(parts.path))
        // libcurl does not send a bare `?`, so a URL with it and the URL without it are the same URL.
        let ownQuery = try (parts.query?.isEmpty == true ? nil : parts.query)
            .map { text throws(InvalidURL) in try URLPath.normalizeEscapes(text, keepsEscapes: true) }
        let added = params.formEncoded
        let written: String? =
            switch (ownQuery, added.isEmpty) {
            case (let own, true): own
            case (nil, false): added
            case (let own?, false): own.hasSuffix("&") ? own + added : own + "&" + added
            }
        query = try written.map { text throws(InvalidURL) in try URLPath.normalizeEscapes(text) }
        string = Self.text(scheme, URLHost.authority(host, port), path, query)
        requestURL = Self.text(scheme, URLHost.authority(parts.host, port), path, written)
        // Either text may be longer: the canonical text has fewer escapes, but `127.0.0.1` in place of `127.1.`.
        guard max(string.utf8.count, requestURL.utf8.count) <= Self.maximumLength else {
            throw .tooLong(limit: Self.maximumLength)
        }
    }

    private static func text(_ scheme: String, _ authority: String, _ path: String, _ query: String?) -> String {
        scheme + "://" + authority + path + (query.map { "?" + $0 } ?? "")
    }

    package static func == (left: CanonicalURL, right: CanonicalURL) -> Bool { left.string == right.string }
    package func hash(into hasher: inout Hasher) { hasher.combine(string) }

    /// The host, and the port unless it is the default: `example.com`, `example.com:8080`, `[::1]:8080`.
    package var authorityText: String { URLHost.authority(host, port) }
    /// Scheme, host and port: `https://example.com:8443`.
    package var origin: String { "\(scheme)://\(authorityText)" }

    /// Throws for characters that no part of a URL may contain, and for a text that is empty or too long.
    static func checkCharacters(of text: String) throws(InvalidURL) {
        guard !text.isEmpty else { throw .relative }
        guard text.utf8.count <= maximumLength else { throw .tooLong(limit: maximumLength) }
        guard text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { return }
        throw text.utf8.contains { $0 != 0x20 && ($0 < 0x20 || $0 == 0x7F) } ? .controlCharacter : .space
    }

    /// Throws for errors that libcurl would accept or silently correct.
    static func checkBytes(of text: String) throws(InvalidURL) {
        try checkCharacters(of: text)
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text.utf8[..<colon].allSatisfy({ $0.isAlphanumeric || "+-.".utf8.contains($0) }),
            let first = text.utf8.first,
            (first | 0x20) >= UInt8(ascii: "a"), (first | 0x20) <= UInt8(ascii: "z")
        else { throw .relative }
        let scheme = text[..<colon].lowercased()
        let rest = text.utf8[text.utf8.index(after: colon)...]
        // `localhost:8080/x` looks like a scheme and a path. In practice hosts contain dots, and schemes do not.
        guard rest.starts(with: "//".utf8) else {
            throw schemes.contains(scheme)
                ? .noHost
                : scheme.contains(".") || scheme == "localhost"
                    ? .relative
                    : .unsupportedScheme(scheme)
        }
        guard schemes.contains(scheme) else { throw .unsupportedScheme(scheme) }
        let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != 0x23 }
        guard !authority.isEmpty else { throw .noHost }
        guard !authority.contains(UInt8(ascii: "@")) else { throw .credentials }
        // Browsers read `\` as `/`, and RFC 3986 does not, so clients and servers may see different hosts.
        guard !authority.contains(UInt8(ascii: "\\")) else { throw .badHost }
    }
}

package enum InvalidURL: Error, Hashable, Sendable, CustomStringConvertible {
    case relative
    case unsupportedScheme(String)
    case notHTTP(String)
    case credentials
    case noHost
    case badHost
    case badPort
    case tooLong(limit: Int)
    case controlCharacter
    case space
    case brokenEscape
    case malformed(String)

    package var description: String {
        switch self {
        case .relative: "the URL must be absolute, such as https://example.com/path"
        case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not supported; use http, https or ftp"
        case .notHTTP(let scheme): "the scheme \"\(scheme)\" is not supported; use http or https"
        case .credentials: "the URL must not contain a user name or password"
        case .noHost: "the URL has no host; expected a URL such as https://example.com/path"
        case .badHost: "the host of the URL is not a valid host name or address"
        case .badPort: "the port of the URL is not a number from 0 to 65535"
        case .tooLong(let limit): "the URL is longer than \(limit) bytes"
        case .controlCharacter: "the URL contains a control character; write it as %XX"
        case .space: "the URL contains a space; write it as %20"
        case .brokenEscape: "the URL contains a % that is not followed by two hexadecimal digits; write it as %25"
        case .malformed(let words): "the URL cannot be parsed: \(words)"
        }
    }
}

/// An absolute `http` or `https` URL as a client sent it, for the request to the origin. Path and query stay byte for
/// byte, including dot segments, double slashes, escapes and a bare `?`. Only differences that cannot mean another
/// resource are removed: scheme and host are in lower case (the host in punycode, an IPv6 address in one spelling), a
/// default port and the fragment are dropped, an empty path becomes `/`, and non-ASCII characters are escaped. A final
/// dot of the host stays, because it is part of the `Host` field. ``CanonicalURL`` unites all spellings of a URL.
package struct ExactURL: Hashable, Sendable {
    package static let schemes: Set<String> = ["http", "https"]

    package let string: String
    package let scheme: String
    /// The host, and the port unless it is the default: `example.com`, `[::1]:8080`.
    package let authority: String
    /// Scheme and authority: `http://example.com`.
    package let site: String
    /// Path and query in the form of a request line.
    package let target: String

    /// Reads a URL. `http:/host` means `http://host`, because some clients and servers merge the two slashes.
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

    /// Splits the text into two parts: scheme and authority as they were sent, and the rest up to the fragment.
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
    /// Percent-encodes each non-ASCII byte separately, so different bytes stay different. The bytes need not be UTF-8.
    @inlinable package init(escapingNonASCII bytes: some Sequence<UInt8>) {
        let plain = bytes.withContiguousStorageIfAvailable { bytes in
            bytes.contains { $0 >= 0x80 } ? nil : String(decoding: bytes, as: UTF8.self)
        }
        self = (plain ?? nil) ?? PercentEscape.text(of: bytes) { $0 < 0x80 }
    }
}

/// Remembers the sites (``ExactURL/site``) of recent URLs by the beginnings of these URLs. Most requests go to few
/// sites, and splitting each URL with libcurl would cost more than all other work of reading the URL.
final class KnownSites: Sendable {
    struct Site: Sendable {
        let scheme: String
        let authority: String
        let text: String

        init(scheme: String, authority: String) {
            self.scheme = scheme
            self.authority = authority
            text = "\(scheme)://\(authority)"
        }
    }

    static let shared = KnownSites()
    private let sites = Locked(BoundedMemo<ExactText, Site>(limit: ExactURL.knownSiteLimit))

    /// Returns the site that a URL's beginning names. Calls `read` if the site is not known. Remembers no failures.
    func site(_ beginning: String, read: (String) throws(InvalidURL) -> Site) throws(InvalidURL) -> Site {
        let name = ExactText(beginning)
        if let site = sites.withLock({ $0[name] }) { return site }
        let site = try read(beginning)
        if beginning.utf8.count <= ExactURL.siteLengthLimit {
            _ = sites.withLock { $0.remember(site, for: name) }
        }
        return site
    }
}

extension ExactURL {
    package static let knownSiteLimit = 1000
    /// The most bytes of a beginning that is remembered; a host name has at most 253 bytes.
    package static let siteLengthLimit = 300
}

/// A memo of computed values, without a lock. When a new value exceeds the limit, the memo forgets all older values,
/// because computing them again is cheap, and the memo does not record when each key was used.
public struct BoundedMemo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline let limit: Int
    @usableFromInline var values: [Key: Value] = [:]

    /// - Parameter limit: the greatest number of values, at least 1.
    @inlinable
    public init(limit: Int) {
        self.limit = limit
    }

    @inlinable public var count: Int { values.count }

    @inlinable
    public subscript(key: Key) -> Value? { values[key] }

    /// Remembers a value, in place of an older value of the same key. Returns the values that were forgotten to make
    /// room. A caller with a lock releases the lock before it frees these values, because there can be many.
    @inlinable
    public mutating func remember(_ value: Value, for key: Key) -> [Key: Value] {
        var forgotten: [Key: Value] = [:]
        if values[key] == nil, values.count == limit { swap(&forgotten, &values) }
        values[key] = value
        return forgotten
    }
}
