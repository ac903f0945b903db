/// The order of a listing.
public struct EntrySort: Hashable, Sendable {
    /// What is compared.
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// The key: the only order in which nothing is skipped or repeated while entries change.
        case key
        /// The canonical URL; what has none comes first.
        case url
        /// The length of the body. Has no index: each page looks at every entry that the filter lets through.
        case contentLength
        /// When the entry stops being fresh.
        case expiryDate
        /// When the entry was last handed out, as of the last flush (at most a second ago).
        case lastAccessDate
        /// How often the entry was handed out, as of the last flush. Has no index, as ``contentLength``.
        case hits
    }

    /// What is compared.
    public var order: Order
    /// Whether the largest comes first.
    public var descending: Bool

    /// By key, ascending.
    public static let key = EntrySort(.key)

    /// An order; ascending by default.
    public init(_ order: Order, descending: Bool = false) {
        self.order = order
        self.descending = descending
    }
}

/// One page of a listing.
public struct EntryPage: Sendable {
    /// The entries, in the order that was asked for.
    public var entries: [Entry]
    /// What to give to get the next page; `nil` on the last one.
    public var nextCursor: String?

    /// A page.
    public init(entries: [Entry], nextCursor: String?) {
        self.entries = entries
        self.nextCursor = nextCursor
    }
}

/// How much there is.
public struct CacheTotals: Hashable, Sendable {
    /// How many entries.
    public var entries: Int64
    /// The sum of their bodies' lengths, in bytes.
    public var bodyBytes: Int64
    /// What they count against the disk limit: bodies in whole blocks, and something for each row.
    public var diskBytes: Int64
    /// How many entries of each kind; a kind without entries may be missing.
    public var entriesByKind: [Entry.Kind: Int64]

    /// Totals.
    public init(entries: Int64, bodyBytes: Int64, diskBytes: Int64, entriesByKind: [Entry.Kind: Int64]) {
        self.entries = entries
        self.bodyBytes = bodyBytes
        self.diskBytes = diskBytes
        self.entriesByKind = entriesByKind
    }

    /// Nothing.
    public static let none = CacheTotals(entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: [:])

    /// What two caches have together.
    public static func + (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        CacheTotals(
            entries: one.entries + other.entries, bodyBytes: one.bodyBytes + other.bodyBytes,
            diskBytes: one.diskBytes + other.diskBytes,
            entriesByKind: one.entriesByKind.merging(other.entriesByKind, uniquingKeysWith: +))
    }
}
