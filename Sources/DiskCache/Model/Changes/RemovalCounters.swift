import Primitives

/// The reason why an entry left the cache.
package enum RemovalCause: String, CaseIterable, Sendable {
    /// A purge removed the entry by its key or by a filter; a `json` or `data` entry was given a ttl of 0; a request
    /// that changes the entry's resource made it invalid (RFC 9111 §4.4); or its namespace was removed or begun anew.
    case purged
    /// The sweep removed the entry, which had expired and had no validator to revalidate it by. An expired entry that
    /// eviction removes counts as ``limit`` or ``reserve``.
    case expired
    /// Evicted because the entries had reached the disk limit.
    case limit
    /// Evicted because the file system had less free space than the reserve.
    case reserve
    /// Evicted because its URL had the maximum number of responses, or the fields of those responses had the maximum
    /// total length.
    case variants
    /// The body was damaged or missing.
    case damaged
}

/// Counts the entries that leave caches, since the start of the process. Several caches may share an object.
/// - An entry counts once its removal is durable.
/// - A body that replaces an older body of the same key does not count, because the entry stays.
package final class RemovalCounters: Sendable {
    private let counts = Locked<[RemovalCause: [Entry.Kind: Int]]>([:])

    package init() {}

    /// Returns the number of entries that left for `cause`.
    ///
    /// - Parameter kind: counts only entries of this kind; `nil`, the default, counts all kinds.
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

/// The share of a single cache in ``RemovalCounters``, counted until the cache is retired.
final class RemovalMeter: Sendable {
    private let counters: RemovalCounters
    private let isRetired = Locked(false)

    init(_ counters: RemovalCounters) {
        self.counters = counters
    }

    /// Counts a removed entry, unless ``retire(holding:)`` was called before.
    func count(_ cause: RemovalCause, _ kind: Entry.Kind) {
        // The counter changes under the lock, so that `retire` cannot count the same entry again.
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
