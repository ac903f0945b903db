import Primitives

/// The identity of an item: its id, else its link, else the digest of its content.
///
/// Ids and links that differ only in `http` and `https` are equal, because publishers move all their ids to https. The
/// link is compared as a ``CanonicalURL``.
package struct ItemIdentity: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable { case id, link, digest }

    package let kind: Kind
    /// Compared byte by byte, as ids are (RFC 4287 §4.2.6.1).
    private let text: ExactText
    package var value: String { text.text }

    /// `id:…`, `link:…` or `digest:…`.
    package var description: String { kind.rawValue + ":" + value }

    package init(_ item: FeedItem) {
        if let id = item.id, !id.isEmpty {
            self.init(.id, Self.withoutScheme(id))
        } else if let key = Self.key(ofLink: item.link) {
            self.init(.link, key)
        } else {
            self.init(.digest, item.digest)
        }
    }

    private init(_ kind: Kind, _ value: String) {
        self.kind = kind
        text = ExactText(value)
    }

    /// The text that equal links have in common; `nil` without a link.
    private static func key(ofLink link: String?) -> String? {
        guard let link, !link.isEmpty else { return nil }
        return withoutScheme((try? CanonicalURL(link).string) ?? link)
    }

    /// The text behind `http:` and `https:`, in either case.
    private static func withoutScheme(_ text: String) -> String {
        let head = text.utf8.prefix(8).map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
        if head.elementsEqual("https://".utf8) { return String(Substring(text.utf8.dropFirst(6))) }
        return head.starts(with: "http://".utf8) ? String(Substring(text.utf8.dropFirst(5))) : text
    }
}
