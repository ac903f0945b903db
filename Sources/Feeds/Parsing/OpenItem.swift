import Primitives

/// An item that is being read.
struct OpenItem {
    var link: String?
    /// The id, if it is the address of the item.
    var permanentLink: String?
    var published: Timestamp?
    var updated: Timestamp?
    var created: Timestamp?
    var enclosures: [FeedItem.Enclosure] = []
    var digest = ContentDigest()
    /// The depth of the first title; `nil` before it. Later titles that are as deep do not count.
    var titleDepth: Int?
    private var id: String?
    private var title: String?
    /// The depths of the elements from which id and title come. An element that is less deep counts more.
    private var idDepth = Int.max
    private var ownTitleDepth = Int.max

    mutating func set(id: String?, depth: Int) {
        guard let id, !id.isEmpty, depth <= idDepth else { return }
        self.id = id
        idDepth = depth
    }

    mutating func set(title: String, of element: TextElement) {
        guard !title.isEmpty else { return }
        // A title of another vocabulary stands in for a missing one.
        let isForeign = element.name == "media:title"
        if titleDepth.map({ $0 > element.depth }) ?? true, element.depth <= ownTitleDepth {
            self.title = title
            ownTitleDepth = element.depth
        }
        if !isForeign { titleDepth = element.depth }
    }

    var finished: FeedItem {
        var digest = digest
        for enclosure in enclosures {
            digest.add(enclosure.url.utf8)
            digest.separate()
        }
        let address = permanentLink.flatMap { URLReference.isWebAddress($0) ? $0 : nil }
        return FeedItem(
            id: id, link: link ?? address, title: title, published: published ?? created, updated: updated,
            enclosures: enclosures, digest: digest.text)
    }
}
