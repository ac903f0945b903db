/// An absolute `http` or `https` URL as a client sent it, for the request to the origin. Path and query stay byte for
/// byte, including dot segments, double slashes, escapes and a bare `?`. Only differences that cannot mean another
/// resource are removed: scheme and host are in lower case (the host in punycode, an IPv6 address in its single text),
/// a default port and the fragment are dropped, an empty path becomes `/`, and non-ASCII characters are escaped. A
/// final dot of the host stays, because it is part of the `Host` field. ``CanonicalURL`` unites all spellings of a URL.
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

    /// Reads a URL. `http:/host` means `http://host`, because some clients and servers merge double slashes.
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
    /// Percent-encodes each non-ASCII byte separately, so different bytes stay different. The bytes need not be UTF-8.
    @inlinable package init(escapingNonASCII bytes: some Sequence<UInt8>) {
        let plain = bytes.withContiguousStorageIfAvailable { bytes in
            bytes.contains { $0 >= 0x80 } ? nil : String(decoding: bytes, as: UTF8.self)
        }
        self = (plain ?? nil) ?? PercentEscape.text(of: bytes) { $0 < 0x80 }
    }
}

/// Remembers the sites of recent URLs by the beginnings of these URLs. Most requests are for few sites, and splitting
/// each URL with libcurl would cost more than all other work of reading it.
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

    /// Returns the site that a URL's beginning names; `read` determines it the first time. Failures are not remembered.
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
    /// The longest beginning that is remembered, in bytes; a host name has at most 253.
    package static let siteLengthLimit = 300
}

/// A memo of computed values, without a lock. When a new value exceeds the limit, the memo forgets all values, because
/// computing them again is cheap, and the memo needs no record of when each key was used.
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
    /// room. A caller that holds a lock releases the lock before these values, because there can be many of them.
    @inlinable
    public mutating func remember(_ value: Value, for key: Key) -> [Key: Value] {
        var forgotten: [Key: Value] = [:]
        if values[key] == nil, values.count == limit { swap(&forgotten, &values) }
        values[key] = value
        return forgotten
    }
}
