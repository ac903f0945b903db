import Primitives

/// The address of a document, which gives its relative references their meaning.
package struct DocumentAddress: Sendable {
    /// The meaning of a reference.
    package enum Destination: Hashable, Sendable {
        case url(WebURL)
        /// A URL that leads to no server, such as `data:`, or only at a click, such as `mailto:`. It stays as it is.
        case inert
        /// A URL that this module cannot read. A browser may read it, so a replay must not have it.
        case unusable
    }

    /// After redirects.
    package let url: WebURL
    /// The encoding in which the document was sent; it is also that of non-ASCII characters in queries.
    package let encoding: TextEncoding
    /// The last base, because most references of a document have the same one.
    private var base: (texts: [String], url: WebURL)?
    /// The bytes that further URLs may have. Without a limit, a long base would make a short document very long.
    private var room: Int

    /// `limit`: the most bytes of all absolute URLs of the document. Any further URL is unusable.
    package init(_ url: WebURL, encoding: TextEncoding = .utf8, limit: Int = 64 << 20) {
        self.url = url
        room = limit
        self.encoding = encoding
    }

    package mutating func resolve(_ reference: Reference) -> Destination {
        // Most URLs are relative, or begin with a scheme of a server.
        let mark = reference.text.utf8.first {
            $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?")
        }
        if mark == UInt8(ascii: ":"), !reference.text.hasPrefix("https://"),
            let scheme = WebURL.scheme(of: reference.text),
            !Self.schemesOfServers.contains(scheme)
        {
            let isInert = Self.inertSchemes.contains(scheme) || reference.kind == .link || reference.kind == .form
            return isInert ? .inert : .unusable
        }
        guard let url = WebURL(reference.text, relativeTo: base(of: reference), encoding: encoding), url.length <= room
        else { return .unusable }
        room -= url.length + url.fragment.utf8.count
        return .url(url)
    }

    private static let schemesOfServers: Set<String> = ["http", "https", "ftp", "ws", "wss"]
    private static let inertSchemes: Set<String> = ["data", "blob", "javascript", "about"]

    private mutating func base(of reference: Reference) -> WebURL {
        guard !reference.bases.isEmpty else { return url }
        if let base, base.texts == reference.bases { return base.url }
        let found = reference.bases.reduce(url) { WebURL($1, relativeTo: $0, encoding: encoding) ?? $0 }
        base = (reference.bases, found)
        return found
    }
}
