package struct EntrySort: Hashable, Sendable {
    package enum Order: String, Hashable, Sendable, CaseIterable {
        /// The only order that skips or repeats no entry while entries change.
        case key
        /// Entries without a URL come first.
        case url
        /// Has no index, so each page examines every entry that the filter lets through.
        case contentLength
        case expiryDate
        /// The date at the last flush: about a second ago, or longer while more entries are read than flushes write.
        case lastAccessDate
        /// The hits at the entry's last flush. Has no index; see ``contentLength``.
        case hits
    }

    package var order: Order
    package var descending: Bool
    package static let key = EntrySort(.key)

    package init(_ order: Order, descending: Bool = false) {
        self.order = order
        self.descending = descending
    }
}

package struct EntryPage: Sendable {
    package var entries: [Entry]
    /// `nil` on the last page.
    package var nextCursor: String?

    package init(entries: [Entry], nextCursor: String?) {
        self.entries = entries
        self.nextCursor = nextCursor
    }
}

package struct CacheTotals: Hashable, Sendable {
    package var entries: Int64
    package var bodyBytes: Int64
    /// The bytes that count against the disk limit: bodies in whole blocks, and an overhead for each row.
    package var diskBytes: Int64
    /// A kind without entries may be missing.
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
