import Primitives

package enum RemovalCause: String, CaseIterable, Sendable {
    /// Removed by key or filter; by a ttl of 0 for a `json` or `data` entry; by a request that changes the resource
    /// (RFC 9111 §4.4); or with its namespace, which was removed or begun anew.
    case purged
    /// The sweep removed the entry, which had no validator. Evicted expired entries count as ``limit`` or ``reserve``.
    case expired
    case limit
    /// Evicted because the file system had less free space than the reserve.
    case reserve
    /// Evicted at the limit for the responses to its URL, or for the length of their fields.
    case variants
    /// The body was damaged or missing.
    case damaged
}

/// The entries that left caches since the start of the process; several caches may share an object. A removal counts
/// once it is durable. A body that replaces an older body of its key does not count, because the entry stays.
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

/// The share of a single cache in ``RemovalCounters``, counted until the cache is retired.
final class RemovalMeter: Sendable {
    private let counters: RemovalCounters
    private let isRetired = Locked(false)

    init(_ counters: RemovalCounters) {
        self.counters = counters
    }

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
