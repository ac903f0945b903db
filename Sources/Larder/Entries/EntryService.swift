import DiskCache
import Primitives

/// The entries of a namespace. Every call of the API about entries passes through this service, and no route reaches
/// the cache in another way.
///
/// ```swift
/// namespace.entries.find("report") { result in
///     guard case .success(let stored?) = result else { return }
///     namespace.entries.countHit(stored.entry)
///     send(stored.body)
/// }
/// ```
///
/// Methods with a `then` call it once, at once or on another thread. It must not block. Changes call it when they are
/// durable, or with ``DiskCacheError/conditionFailed``, or with an error of the index.
package struct EntryService: Sendable {
    let cache: DiskCache
    let clock: any WallClock
    private let metrics: ServiceMetrics

    init(_ cache: DiskCache, clock: any WallClock, metrics: ServiceMetrics) {
        self.cache = cache
        self.clock = clock
        self.metrics = metrics
    }

    /// Finds an entry with its body, fresh or stale; `nil` when there is none. Counts neither a hit nor a miss.
    ///
    /// - Parameter url: the canonical URL from which the key was made. An entry of another URL with the same MD5 counts
    ///   as absent. `nil`, the default: any entry with the key.
    package func find(
        _ key: String, expectingURL url: String? = nil,
        then: @escaping @Sendable (Result<StoredEntry?, CacheError>) -> Void
    ) {
        cache.find(key, expectingURL: url, then: then)
    }

    package func findEntry(_ key: String, then: @escaping @Sendable (Result<Entry?, CacheError>) -> Void) {
        cache.findEntry(key, then: then)
    }

    /// Finds a small body that is sent from its slot, and counts the hit. `nil`: use ``find(_:expectingURL:then:)``.
    package func findPassing(_ key: String, then: @escaping @Sendable (PassingBody?) -> Void) {
        cache.findPassing(key) { [metrics] body in
            if body != nil { metrics.hits.increment() }
            then(body)
        }
    }

    /// ``findPassing(_:then:)`` without waiting, for libmicrohttpd's threads.
    package func passing(_ key: String, at now: Timestamp) -> PassingResult {
        let result = cache.passing(key, at: now)
        if case .body = result { metrics.hits.increment() }
        return result
    }

    package func countHit(_ entry: Entry) {
        metrics.hits.increment()
        cache.recordHit(entry)
    }

    /// Counts a read that found no entry, or only an entry that is too old for the caller.
    package func countMiss() {
        metrics.misses.increment()
    }

    /// See ``DiskCache/keepAtHand(_:for:bytes:onEnd:)``.
    package func keepAtHand(
        _ mark: HotEntry.Mark, for requests: Int, bytes: Int, onEnd: @escaping @Sendable () -> Void
    ) -> Bool {
        cache.keepAtHand(mark, for: requests, bytes: bytes, onEnd: onEnd)
    }

    /// See ``DiskCache/list(_:sort:limit:cursor:)``. Waits for the disk.
    package func list(
        _ filter: EntryFilter, sort: EntrySort, limit: Int, cursor: String?
    ) throws(CacheError) -> EntryPage {
        try cache.list(filter, sort: sort, limit: limit, cursor: cursor)
    }

    /// Waits for the disk.
    package func count(matching filter: EntryFilter) throws(CacheError) -> Int {
        try cache.count(matching: filter)
    }

    /// Returns the stored responses to exactly that URL, fresh or stale, at most `limit`. Waits for the disk.
    package func responses(to url: ExactURL, limit: Int) throws(CacheError) -> [Entry] {
        try cache.responses(to: ResponseURL(url.string), limit: limit)
    }

    package var memoryStatistics: MemoryStatistics { cache.memoryStatistics }
    /// As of the last commit.
    package var totals: CacheTotals { cache.totals }
    /// The most bytes that the entries may take on disk now.
    package var diskLimit: Int64 { cache.diskLimit }
    package var memoryLimit: Int { cache.memoryLimit }
}
