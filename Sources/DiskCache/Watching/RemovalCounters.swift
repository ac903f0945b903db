import Primitives

/// Why an entry left the cache.
public enum RemovalCause: String, CaseIterable, Sendable {
    /// A purge removed it, by its key or by a filter; it was given a ttl of 0; a request that changes its resource made
    /// it invalid (RFC 9111 §4.4); or its namespace was removed or begun anew.
    case purged
    /// It had expired, and there was nothing to revalidate it by.
    case expired
    /// Evicted: entries take all that the disk limit lets them.
    case limit
    /// Evicted: the file system has less left than the reserve.
    case reserve
    /// Evicted: its URL has as many responses as one may have, or their fields are as long as they may be.
    case variants
    /// Its body was damaged or missing.
    case damaged
}

/// Counts the entries that leave caches, from the start of the process. One object may count for many caches.
///
/// An entry counts once its removal is durable. A body that takes the place of an older one of the same key does not:
/// the entry stays.
public final class RemovalCounters: Sendable {
    private let counts = Locked<[RemovalCause: [Entry.Kind: Int]]>([:])

    /// Counters at zero.
    public init() {}

    /// How many entries left for that cause.
    ///
    /// - Parameter kind: only those of this kind; `nil`, the default: all.
    public func count(of cause: RemovalCause, kind: Entry.Kind? = nil) -> Int {
        counts.withLock { counts in
            let byKind = counts[cause] ?? [:]
            return kind.map { byKind[$0] ?? 0 } ?? byKind.values.reduce(0, +)
        }
    }

    func add(_ count: Int, _ cause: RemovalCause, _ kind: Entry.Kind) {
        counts.withLock { $0[cause, default: [:]][kind, default: 0] += count }
    }
}

/// What one cache adds to ``RemovalCounters``, until it is retired.
final class RemovalMeter: Sendable {
    private let counters: RemovalCounters
    private let isRetired = Locked(false)

    init(_ counters: RemovalCounters) {
        self.counters = counters
    }

    /// Counts an entry that was removed.
    func count(_ cause: RemovalCause, _ kind: Entry.Kind) {
        // Under the lock, so that it is not counted once more among all.
        isRetired.withLock { if !$0 { counters.add(1, cause, kind) } }
    }

    /// Counts all entries as purged, and nothing after that.
    func retire(holding entries: [Entry.Kind: Int64]) {
        isRetired.withLock { isRetired in
            guard !isRetired else { return }
            isRetired = true
            for (kind, count) in entries { counters.add(Int(count), .purged, kind) }
        }
    }
}

extension DiskCache {
    /// Counts all that it holds as purged, and from then on nothing: its namespace was removed or begun anew, and its
    /// entries go with the directory.
    public func countAllAsPurged() { parts.removals.retire(holding: totals.entriesByKind) }
}
