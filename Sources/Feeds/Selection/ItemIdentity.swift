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

    /// The text from which ``init(_:)-(String)`` reads the identity: `id:…`, `link:…` or `digest:…`.
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

    /// Reads a ``description``; `nil` for any other text.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), let kind = Kind(rawValue: String(text[..<colon])) else {
            return nil
        }
        self.init(kind, String(text[text.index(after: colon)...]))
    }

    private init(_ kind: Kind, _ value: String) {
        self.kind = kind
        text = ExactText(value)
    }

    /// The text that equal links have in common; `nil` without a link.
    package static func key(ofLink link: String?) -> String? {
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

/// The items of a set, by identity and by link. It recognises an item that got a new id.
package struct KnownItems: Sendable {
    private var identities: Set<ItemIdentity> = []
    /// The identity of the only item with a link; `nil` for a link that several items have, such as a home page.
    private var owners: [ExactText: ItemIdentity?] = [:]

    package init(_ items: some Sequence<(identity: ItemIdentity, link: String?)> = []) {
        for item in items { insert(item.identity, link: item.link) }
    }

    private mutating func insert(_ identity: ItemIdentity, link: String?) {
        identities.insert(identity)
        guard let key = ItemIdentity.key(ofLink: link).map(ExactText.init) else { return }
        if let owner = owners[key], owner != identity { owners[key] = .some(nil) } else { owners[key] = identity }
    }

    /// The identity under which each of these items of one document is known, or its own for a new item. An item with
    /// an unknown id is a known item if it alone has the known item's link, and the document has no item with the
    /// known item's id.
    package func identities(of items: [FeedItem]) -> [ItemIdentity] {
        let own = items.map { ItemIdentity($0) }
        let present = Set(own)
        let document = KnownItems(zip(own, items).map { ($0, $1.link) })
        return zip(own, items).map { identity, item in
            guard !identities.contains(identity), let key = ItemIdentity.key(ofLink: item.link).map(ExactText.init),
                let owner = owners[key] ?? nil, !present.contains(owner), document.owners[key] == .some(identity)
            else { return identity }
            return owner
        }
    }
}
