/// A change of an entry, or the removal of several entries by the same operation.
package struct EntryChange: Sendable {
    /// A refresh, an update and a slide of the expiry are not reported, because the body stays.
    package enum Verb: Sendable, CaseIterable {
        /// The body may have replaced an older body of the same key.
        case stored
        /// The sweep removed the entry.
        case expired
        /// A caller removed the entry, or its body was damaged.
        case removed
        /// Removed to make room, on disk or among the responses to its URL.
        case evicted
    }

    package enum Subject: Sendable {
        /// The entry as it was stored, or as it was when it was removed.
        case entry(EntrySummary)
        /// Entries without an event of their own; the filter is `nil` when the operation used none, or several.
        case others(count: Int, EntryFilter?)
    }

    package let verb: Verb
    package let subject: Subject

    init(_ verb: Verb, _ entry: Entry) {
        self.verb = verb
        subject = .entry(EntrySummary(entry))
    }

    init(_ verb: Verb, others count: Int, _ filter: EntryFilter?) {
        self.verb = verb
        subject = .others(count: count, filter)
    }
}

package struct EntrySummary: Sendable {
    package let key: String
    package let kind: Entry.Kind
    /// Canonical; `nil` for ``Entry/Kind/data``.
    package let url: String?
    package let tags: [String]
    package let contentLength: Int64

    /// The summary keeps no reference to the entry, because its other fields may be long.
    package init(_ entry: Entry) {
        key = entry.key
        kind = entry.kind
        url = entry.url
        tags = entry.tags
        contentLength = entry.contentLength
    }
}
