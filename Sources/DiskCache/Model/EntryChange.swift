import Primitives

/// A change of an entry, or the removal of several entries by the same operation.
package struct EntryChange: Sendable {
    /// A refresh, an update and a renewal of the expiry date by a hit are not reported, because the body stays.
    package enum Verb: Sendable, CaseIterable {
        /// The body may have replaced an older body of the same key.
        case stored
        case expired
        /// A caller removed the entry, or its body was damaged.
        case removed
        /// Removed to make room, on disk or among the responses to its URL.
        case evicted
    }

    package enum Subject: Sendable {
        case entry(EntrySummary)
        /// Entries without an event of their own; the filter is `nil` when the operation used none, or several.
        case others(count: Int, EntryFilter?)
    }

    package let verb: Verb
    package let subject: Subject
}

/// The fields of an entry that an event reports. Keeps no reference to the entry: its other fields may be long.
package struct EntrySummary: Sendable {
    package let key: String
    package let kind: Entry.Kind
    /// See ``Entry/url``.
    package let url: String?
    package let tags: [String]
    package let contentLength: Int64

    package init(_ entry: Entry) {
        key = entry.key
        kind = entry.kind
        url = entry.url
        tags = entry.tags
        contentLength = entry.contentLength
    }
}

/// Receives changes, but no reads. The writer's thread calls the methods, so they must not block.
package protocol EntryObserver: Sendable {
    /// Whether an event would reach a listener now. Read for each change, so it must be very cheap.
    var isInterested: Bool { get }

    /// Receives the changes of one transaction in order, after it is durable and before it is acknowledged. The last
    /// event of a bulk removal may come in a call of its own. `changes` is never empty.
    func entriesChanged(_ changes: [EntryChange])
}

/// Reports the removals of one operation: an event for each of the first entries, and a number for the others.
struct BulkRemoval: Sendable {
    let verb: EntryChange.Verb
    var filter: EntryFilter?
    var singleLimit = 100

    /// `nil`: the entry that follows `count` removed entries gets no event of its own and belongs to ``rest(of:)``.
    func verb(after count: Int) -> EntryChange.Verb? { count < singleLimit ? verb : nil }

    /// The event for the entries without an event of their own, after `count` removals in total.
    func rest(of count: Int) -> EntryChange? {
        count > singleLimit ? EntryChange(verb: verb, subject: .others(count: count - singleLimit, filter)) : nil
    }
}

package enum RemovalCause: String, CaseIterable, Sendable {
    /// Removed by key or filter; by a ttl of 0 for a `json` or `data` entry; by a request that changes the resource
    /// (RFC 9111 §4.4); or with its namespace, which was removed or replaced by an empty one.
    case purged
    /// The sweep removed the entry, useless once expired. Evicted expired entries count as ``limit`` or ``reserve``.
    case expired
    case limit
    /// Evicted because the file system had less free space than the reserve.
    case reserve
    /// Evicted because its URL had too many responses, or too many bytes of response fields.
    case variants
    /// The body was damaged or missing.
    case damaged
}

/// The entries that left caches since the start; several caches may share an object. A removal counts once it is
/// durable. A body that replaces an older body of its key does not count, because the entry stays.
package final class RemovalCounters: Sendable {
    private let counts = Locked<[RemovalCause: [Entry.Kind: Int]]>([:])

    package init() {}

    /// `nil` counts all kinds.
    package func count(of cause: RemovalCause, kind: Entry.Kind? = nil) -> Int {
        counts.withLock { counts in
            let byKind = counts[cause] ?? [:]
            return kind.map { byKind[$0] ?? 0 } ?? byKind.values.reduce(0, +)
        }
    }

    func add(_ count: Int, _ cause: RemovalCause, _ kind: Entry.Kind) {
        counts.withLock { $0[cause, default: [:]][kind, default: 0] += count }
    }
}

/// Adds the removals of a single cache to ``RemovalCounters``, until the cache is retired.
final class RemovalMeter: Sendable {
    private let counters: RemovalCounters
    private let isRetired = Locked(false)

    init(_ counters: RemovalCounters) { self.counters = counters }

    func count(_ cause: RemovalCause, _ kind: Entry.Kind) {
        // Counted under the lock, so that `retire` cannot count the same entry again.
        isRetired.withLock { if !$0 { counters.add(1, cause, kind) } }
    }

    /// Counts all `entries` as purged, and ignores every later removal.
    func retire(holding entries: [Entry.Kind: Int64]) {
        isRetired.withLock { isRetired in
            guard !isRetired else { return }
            isRetired = true
            for (kind, count) in entries { counters.add(Int(count), .purged, kind) }
        }
    }
}
