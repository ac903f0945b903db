/// The order of a listing.
package struct EntrySort: Hashable, Sendable {
    package enum Order: String, Hashable, Sendable, CaseIterable {
        /// The key. The only order that skips or repeats no entry while entries change.
        case key
        /// The canonical URL; entries without a URL come first.
        case url
        /// The length of the body. This order has no index, so each page examines every entry that the filter lets
        /// through.
        case contentLength
        /// The time at which the entry stops being fresh.
        case expiryDate
        /// The time of the last hit, as of the entry's last flush. That was at most about a second ago, or longer while
        /// more entries are read than the flushes write.
        case lastAccessDate
        /// The number of hits, as of the entry's last flush. This order has no index; see ``contentLength``.
        case hits
    }

    package var order: Order
    /// Whether the largest value comes first.
    package var descending: Bool
    package static let key = EntrySort(.key)

    package init(_ order: Order, descending: Bool = false) {
        self.order = order
        self.descending = descending
    }
}

package struct EntryPage: Sendable {
    package var entries: [Entry]
    /// The cursor for the next page; `nil` on the last page.
    package var nextCursor: String?

    package init(entries: [Entry], nextCursor: String?) {
        self.entries = entries
        self.nextCursor = nextCursor
    }
}

/// The numbers of entries and bytes in a cache.
package struct CacheTotals: Hashable, Sendable {
    package var entries: Int64
    /// The sum of the body lengths, in bytes.
    package var bodyBytes: Int64
    /// The bytes that count against the disk limit: bodies in whole blocks, and an overhead for each row.
    package var diskBytes: Int64
    /// The number of entries of each kind; a kind without entries may be missing.
    package var entriesByKind: [Entry.Kind: Int64]

    package init(entries: Int64, bodyBytes: Int64, diskBytes: Int64, entriesByKind: [Entry.Kind: Int64]) {
        self.entries = entries
        self.bodyBytes = bodyBytes
        self.diskBytes = diskBytes
        self.entriesByKind = entriesByKind
    }

    package static let none = CacheTotals(entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: [:])

    package static func + (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        CacheTotals(
            entries: one.entries + other.entries, bodyBytes: one.bodyBytes + other.bodyBytes,
            diskBytes: one.diskBytes + other.diskBytes,
            entriesByKind: one.entriesByKind.merging(other.entriesByKind, uniquingKeysWith: +))
    }
}
