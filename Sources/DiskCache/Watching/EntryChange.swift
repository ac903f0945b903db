/// What has become of an entry, or of as many that one operation removed.
public struct EntryChange: Sendable {
    /// What there is to tell. A refresh, an update or a slide is none of it: the body stays.
    public enum Verb: Sendable, CaseIterable {
        /// A body was published, in place of an older one or not.
        case stored
        /// The entry had expired and was of no more use.
        case expired
        /// Somebody removed it, or its body was damaged.
        case removed
        /// It went because room was needed.
        case evicted
    }

    /// What it became of.
    public enum Subject: Sendable {
        /// The entry as it was stored, or as it was when it went.
        case entry(EntrySummary)
        /// So many others of the same operation, which are not told of one by one; and the filter by which it chose
        /// them, when it did by a single one.
        case others(count: Int, EntryFilter?)
    }

    /// What became of it.
    public let verb: Verb
    /// The entry, or the entries.
    public let subject: Subject

    init(_ verb: Verb, _ entry: Entry) {
        self.verb = verb
        subject = .entry(EntrySummary(entry))
    }

    init(_ verb: Verb, others count: Int, _ filter: EntryFilter?) {
        self.verb = verb
        subject = .others(count: count, filter)
    }
}

/// What tells an entry from others.
public struct EntrySummary: Sendable {
    /// The entry's key.
    public let key: String
    /// Where it came from.
    public let kind: Entry.Kind
    /// The canonical URL; `nil` for ``Entry/Kind/data``.
    public let url: String?
    /// The tags, sorted.
    public let tags: [String]
    /// The length of the body in bytes.
    public let contentLength: Int64

    /// A summary keeps nothing else of the entry, whose fields may be long.
    public init(_ entry: Entry) {
        key = entry.key
        kind = entry.kind
        url = entry.url
        tags = entry.tags
        contentLength = entry.contentLength
    }
}
