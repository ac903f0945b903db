import DiskCache
import HTTPCaching
import Primitives

/// The entries of a namespace. The routes for entries use this service and not the cache itself. A resource of a page
/// (``Entry/Kind/resource``) is no entry for callers: its key is absent.
///
/// Each method with a `then` calls `then` once: before it returns, or on another thread. `then` must not block. A
/// change calls `then` when the change is durable, or with ``DiskCacheError/conditionFailed`` or an error of the index.
package struct EntryService: Sendable {
    let cache: DiskCache
    let metrics: ServiceMetrics

    /// Finds an entry with its body, fresh or stale. Counts neither a hit nor a miss. With `url`, the canonical URL
    /// from which the key was made, an entry of another URL with the same MD5 counts as absent.
    package func find(
        _ key: String, expectingURL url: String? = nil,
        then: @escaping @Sendable (Result<StoredEntry?, CacheError>) -> Void
    ) {
        if CacheKey.isResource(key) { return then(.success(nil)) }
        cache.find(key, expectingURL: url, then: then)
    }

    package func findEntry(_ key: String, then: @escaping @Sendable (Result<Entry?, CacheError>) -> Void) {
        if CacheKey.isResource(key) { return then(.success(nil)) }
        cache.findEntry(key, then: then)
    }

    /// Finds a small body to send from its slot, and counts the hit. `nil`: use ``find(_:expectingURL:then:)``.
    package func findPassing(_ key: String, then: @escaping @Sendable (PassingBody?) -> Void) {
        if CacheKey.isResource(key) { return then(nil) }
        cache.findPassing(key) { [metrics] body in
            if body != nil { metrics.hits.increment() }
            then(body)
        }
    }

    /// As ``findPassing(_:then:)``, but never waits for the disk, because libmicrohttpd's threads call it.
    package func passing(_ key: String, at now: Timestamp) -> Lookup<PassingBody?> {
        if CacheKey.isResource(key) { return .found(nil) }
        let result = cache.passing(key, at: now)
        if case .found(_?) = result { metrics.hits.increment() }
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

    /// Returns the stored responses to exactly this URL, fresh or stale, at most `limit`. Waits for the disk.
    package func responses(to url: ExactURL, limit: Int) throws(CacheError) -> [Entry] {
        try cache.responses(to: ResponseURL(url.string), limit: limit)
    }

    /// The names of the subscriptions that hold the entry of a key, sorted. Waits for the disk.
    package func holders(of key: CacheKey) throws(CacheError) -> [String] {
        try cache.holders(ofKeys: [key.text])[key.text] ?? []
    }

    /// The names of the subscriptions that hold entries, sorted, by the keys of the entries. One query finds all of
    /// them, and none is made if no entry is held. Waits for the disk.
    package func holders(of entries: [Entry]) throws(CacheError) -> [String: [String]] {
        try cache.holders(ofKeys: entries.filter(\.held).map(\.key))
    }

    /// Finds an entry with the names of the subscriptions that hold it, sorted.
    package func findHeldEntry(
        _ key: String, then: @escaping @Sendable (Result<(entry: Entry, holders: [String])?, CacheError>) -> Void
    ) {
        findEntry(key) { result in
            guard case .success(let entry?) = result, entry.held else {
                return then(result.map { entry in entry.map { (entry: $0, holders: []) } })
            }
            cache.onDiskThread {
                let found = Result { () throws(CacheError) in try holders(of: [entry])[entry.key] ?? [] }
                then(found.map { (entry: entry, holders: $0) })
            }
        }
    }

    package var memoryStatistics: MemoryStatistics { cache.memoryStatistics }
    /// As of the last commit.
    package var totals: CacheTotals { cache.totals }
    /// The most bytes that the entries may take on disk now.
    package var diskLimit: Int64 { cache.diskLimit }
    package var memoryLimit: Int { cache.memoryLimit }

    /// Begins to store a body that a caller sends. `url` is the canonical URL from which the key was made; `nil` for a
    /// caller's own key. With a ttl of zero or less no body is stored, and the held entry is removed.
    package func put(
        _ key: CacheKey, kind: Entry.Kind, url: String? = nil, _ metadata: EntryMetadata, condition: WriteCondition?
    ) -> EntryUpload {
        EntryUpload(
            service: self, metadata: metadata, url: url, condition: condition, key: key.text,
            reservation: cache.reserve(key, kind: kind, url: url, tags: metadata.tags ?? [], pinned: metadata.pinned))
    }

    /// Checks the conditions of a change before its body is read. The change itself checks the conditions again. The
    /// look-up may wait for the disk on the caller's thread, but reading a body in vain would take longer.
    package func check(
        _ condition: WriteCondition?, on key: String, expectingURL url: String? = nil
    ) throws(CacheError) {
        guard let condition, !CacheKey.isResource(key) else { return }
        let entry = try cache.entry(for: key, expectingURL: url)
        // A missing entry gets 404, which takes precedence over the conditions (RFC 9110 §13.2.1).
        guard entry != nil || condition.creates else { return }
        if !condition.holds(for: entry) { throw .conditionFailed }
    }

    package enum PatchOutcome: Sendable {
        case changed(Entry)
        /// The entry was removed, because the ttl was zero and a caller had stored the entry.
        case removed
        case absent
    }

    /// Changes the metadata of an entry; `nil` leaves a value unchanged. The ttl is the time to stay fresh from now:
    /// zero removes an entry that a caller stored, and makes any other entry stale. The ttl of a stored response
    /// applies to every caller, until the origin states a lifetime again.
    package func patch(
        _ key: String, ttl: Duration?, tags: [String]?, pinned: Bool?, condition: WriteCondition?,
        then: @escaping @Sendable (Result<PatchOutcome, CacheError>) -> Void
    ) {
        findEntry(key) { [cache] result in
            let held: Entry
            switch result {
            case .success(let entry?): held = entry
            case .success(nil): return then(.success(.absent))
            case .failure(let error): return then(.failure(error))
            }
            let removes = ttl == .zero && (held.kind == .json || held.kind == .data)
            let fields: @Sendable (String) -> String = { text in
                guard ttl != nil, var head = StoredResponse(text: text) else { return text }
                head.isExpirySet = true
                return head.text
            }
            cache.update(key, ttl: ttl, tags: tags, pinned: pinned, fields: fields, condition: condition?.holds(for:)) {
                result in
                then(
                    result.map { entry -> PatchOutcome in
                        if let entry { return .changed(entry) }
                        return removes ? .removed : .absent
                    })
            }
        }
    }

    /// Removes the entry of a key. If the key is the MD5 of a URL, also removes all stored responses to the URL.
    package func remove(
        _ key: String, condition: WriteCondition?, then: @escaping @Sendable (Result<Int, CacheError>) -> Void
    ) {
        if CacheKey.isResource(key) { return then(.success(0)) }
        guard CacheKey(key)?.form != .url else {
            return cache.remove(
                matching: [EntryFilter(md5: key)], condition: condition.map { (key, $0.holds(for:)) }, completion: then)
        }
        // Without an entry the answer is 404, independent of the conditions.
        cache.remove(key, condition: { $0 == nil || condition?.holds(for: $0) ?? true }) { result in
            then(result.map { $0 ? 1 : 0 })
        }
    }

    /// Removes every matching entry that was published before this call.
    package func remove(matching filter: EntryFilter, then: @escaping @Sendable (Result<Int, CacheError>) -> Void) {
        cache.remove(matching: [filter], completion: then)
    }
}

// Names of the cache's types for higher modules, which do not import DiskCache and so cannot reach the cache itself.

package typealias CacheError = DiskCache::DiskCacheError
package typealias CacheKey = DiskCache::CacheKey
package typealias ChangeMark = DiskCache::ChangeMark
package typealias Entry = DiskCache::Entry
package typealias EntryFilter = DiskCache::EntryFilter
package typealias EntryMetadata = DiskCache::EntryMetadata
package typealias EntryPage = DiskCache::EntryPage
package typealias EntrySort = DiskCache::EntrySort
package typealias HotEntry = DiskCache::HotEntry
package typealias Lookup = DiskCache::Lookup
package typealias MemoryStatistics = DiskCache::MemoryStatistics
package typealias PassingBody = DiskCache::PassingBody
package typealias RemovalCause = DiskCache::RemovalCause
package typealias StoredBody = DiskCache::StoredBody
package typealias StoredEntry = DiskCache::StoredEntry

/// A body that a caller sends, on its way into an entry; see ``EntryService/put(_:kind:url:_:condition:)``.
///
/// An upload that is released without being published is abandoned. One thread at a time may deliver bytes.
package struct EntryUpload: Sendable {
    let service: EntryService
    let metadata: EntryMetadata
    let url: String?
    let condition: WriteCondition?
    package let key: String
    let reservation: Reservation

    /// Whether the upload removes the held entry and stores no body, because the ttl is zero or less.
    package var removes: Bool { metadata.ttl <= .zero }

    /// Announces the length of the body, so that a body that does not fit is refused before it is sent. Throws
    /// ``DiskCacheError/entryTooLarge(limit:)`` and ``DiskCacheError/noSpace``.
    package func expect(length: Int64) throws(CacheError) {
        if !removes { try reservation.expect(length: length) }
    }

    package func checkCondition() throws(CacheError) {
        try service.check(condition, on: key, expectingURL: url)
    }

    /// Throws ``DiskCacheError/entryTooLarge(limit:)``, ``DiskCacheError/noSpace`` and the errors of the file system.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
        try reservation.receive(bytes)
    }

    /// Drops the received bytes. The held entry stays.
    package func abandon() {
        reservation.abandon()
    }

    /// Stores the received body. `length` is the announced length in bytes; `nil`: none was announced.
    package func publish(length: Int64?, then: @escaping @Sendable (Result<Entry, CacheError>) -> Void) {
        reservation.publish(metadata, expectedLength: length, condition: isAllowed) { result in
            then(result.map(\.entry))
        }
    }

    /// Removes the held entry. `then` gets whether an entry existed.
    package func removeHeld(then: @escaping @Sendable (Result<Bool, CacheError>) -> Void) {
        reservation.abandon()
        service.cache.remove(key, condition: isAllowed, completion: then)
    }

    private var isAllowed: (@Sendable (Entry?) -> Bool)? {
        guard let condition else { return nil }
        // An entry of another URL with the same MD5 counts as absent.
        return { [url] entry in condition.holds(for: url == nil || entry?.url == url ? entry : nil) }
    }
}
