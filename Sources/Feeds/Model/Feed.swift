import Primitives

/// The content of an RSS, Atom or JSON feed.
package struct Feed: Equatable, Sendable {
    package enum Format: String, Hashable, Sendable {
        /// RSS 0.9x and 2.0.
        case rss
        /// RSS 0.90 and 1.0, which are RDF.
        case rdf
        /// Atom 0.3 and 1.0.
        case atom
        case json
    }

    package var format: Format
    /// Plain text; `nil` if the feed has none.
    package var title: String?
    /// The time for which the feed's publisher asks not to come back: `ttl` of RSS, else `updatePeriod` and
    /// `updateFrequency` of RSS 1.0's syndication module; `nil` without them, and for a number that is not positive.
    package var timeToLive: Duration?
    /// In the order of the document.
    package var items: [FeedItem]

    package init(format: Format, title: String? = nil, timeToLive: Duration? = nil, items: [FeedItem] = []) {
        self.format = format
        self.title = title
        self.timeToLive = timeToLive
        self.items = items
    }
}

/// An entry of a feed, or an element of a paged list.
package struct FeedItem: Equatable, Sendable {
    package struct Enclosure: Equatable, Sendable {
        /// Absolute if the URL of the document is known.
        package var url: String
        /// The media type; `nil` if the feed states none.
        package var type: String?
        /// In bytes; `nil` if the feed states no number.
        package var length: Int64?

        package init(url: String, type: String? = nil, length: Int64? = nil) {
            self.url = url
            self.type = type
            self.length = length
        }
    }

    /// `guid`, `atom:id`, `rdf:about` or JSON Feed's `id`, as the feed writes it. A relative permalink is made
    /// absolute.
    package var id: String?
    /// The page of the item, absolute if the URL of the document is known. Without a link, a permanent link in the id.
    package var link: String?
    /// Plain text.
    package var title: String?
    package var published: Timestamp?
    package var updated: Timestamp?
    package var enclosures: [Enclosure]
    /// A digest of title, texts, date and enclosures, which identifies an item without id and link. Of a long text, the
    /// beginning and the length count.
    package var digest: String

    /// When the item appeared, else when it changed; `nil` for an undated item.
    package var date: Timestamp? { published ?? updated }

    package init(
        id: String? = nil, link: String? = nil, title: String? = nil, published: Timestamp? = nil,
        updated: Timestamp? = nil, enclosures: [Enclosure] = [], digest: String = ""
    ) {
        self.id = id
        self.link = link
        self.title = title
        self.published = published
        self.updated = updated
        self.enclosures = enclosures
        self.digest = digest
    }
}

extension [FeedItem.Enclosure] {
    /// Throws ``SourceFault`` when the item has as many enclosures as `limits` permits.
    mutating func append(_ enclosure: FeedItem.Enclosure, _ limits: SourceLimits) throws(SourceFault) {
        guard count < limits.enclosures else {
            throw SourceFault("an item of the feed has over \(limits.enclosures) enclosures")
        }
        append(enclosure)
    }
}
