/// The order of a listing.
public struct EntrySort: Hashable, Sendable {
    /// The value that is compared.
    public enum Order: String, Hashable, Sendable, CaseIterable {
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

    /// The value that is compared.
    public var order: Order
    /// Whether the largest value comes first.
    public var descending: Bool

    /// By key, ascending.
    public static let key = EntrySort(.key)

    /// Creates an order; ascending by default.
    public init(_ order: Order, descending: Bool = false) {
        self.order = order
        self.descending = descending
    }
}

/// One page of a listing.
public struct EntryPage: Sendable {
    /// The entries, in the requested order.
    public var entries: [Entry]
    /// The cursor for the next page; `nil` on the last page.
    public var nextCursor: String?

    /// Creates a page.
    public init(entries: [Entry], nextCursor: String?) {
        self.entries = entries
        self.nextCursor = nextCursor
    }
}

/// The numbers of entries and bytes in a cache.
public struct CacheTotals: Hashable, Sendable {
    /// The number of entries.
    public var entries: Int64
    /// The sum of the body lengths, in bytes.
    public var bodyBytes: Int64
    /// The bytes that count against the disk limit: bodies in whole blocks, and an overhead for each row.
    public var diskBytes: Int64
    /// The number of entries of each kind; a kind without entries may be missing.
    public var entriesByKind: [Entry.Kind: Int64]

    /// Creates totals.
    public init(entries: Int64, bodyBytes: Int64, diskBytes: Int64, entriesByKind: [Entry.Kind: Int64]) {
        self.entries = entries
        self.bodyBytes = bodyBytes
        self.diskBytes = diskBytes
        self.entriesByKind = entriesByKind
    }

    /// The totals of an empty cache.
    public static let none = CacheTotals(entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: [:])

    /// Adds the totals of two caches.
    public static func + (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        CacheTotals(
            entries: one.entries + other.entries, bodyBytes: one.bodyBytes + other.bodyBytes,
            diskBytes: one.diskBytes + other.diskBytes,
            entriesByKind: one.entriesByKind.merging(other.entriesByKind, uniquingKeysWith: +))
    }
}
