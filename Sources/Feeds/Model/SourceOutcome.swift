/// The meaning of an answer of a subscription's source.
package enum SourceOutcome<Content: Sendable>: Sendable {
    case items(Content)
    /// The answer has the expected form, but lists no items.
    case empty(Content)
    /// The reason in words, as they may follow "the source cannot be read: ".
    case unparsable(String)

    /// The content; `nil` for an unparsable answer.
    package var content: Content? {
        switch self {
        case .items(let content), .empty(let content): content
        case .unparsable: nil
        }
    }

    /// The reason for which the answer cannot be read; `nil` for a readable answer.
    package var reason: String? { if case .unparsable(let reason) = self { reason } else { nil } }
}

extension SourceOutcome: Equatable where Content: Equatable {}

/// The reason for which an answer is refused.
struct SourceFault: Error, Equatable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// The limits for one answer of a source. An answer beyond a limit is refused, because a part of a set would look like
/// a set that shrank.
package struct SourceLimits: Hashable, Sendable {
    /// The most bytes of an answer, before and after decompression.
    package var bytes: Int
    /// The most items or URLs.
    package var items: Int
    /// The most elements inside one another.
    package var depth: Int
    /// The most bytes of a kept text. A longer title is cut. A longer date, base or attribute, and an id or link that
    /// is longer once it is absolute, count as absent.
    package var fieldBytes: Int
    /// The most enclosures of an item.
    package var enclosures: Int
    /// The most elements of an XML document, which limits the time of the parser.
    package var elements: Int
    /// The most bytes of all links, each together with its base (``LinkBudget``).
    package var linkBytes: Int

    package init(
        bytes: Int = 32 << 20, items: Int = 10_000, depth: Int = 256, fieldBytes: Int = 16 << 10,
        enclosures: Int = 1000, elements: Int = 4_000_000, linkBytes: Int = 64 << 20
    ) {
        self.bytes = bytes
        self.items = items
        self.depth = depth
        self.fieldBytes = fieldBytes
        self.enclosures = enclosures
        self.elements = elements
        self.linkBytes = linkBytes
    }

    package static let feed = SourceLimits()
    /// The limits of the protocol: 52,428,800 bytes and 50,000 URLs (sitemaps.org, "Sitemap file location").
    package static let sitemap = SourceLimits(bytes: 52_428_800, items: 50_000, depth: 32, fieldBytes: 8192)
}
