import DiskCache

/// Begins a call of the cache, and waits for the result that the cache passes to the call's completion.
package func outcome<Value: Sendable>(
    of begin: (@escaping @Sendable (Result<Value, DiskCacheError>) -> Void) -> Void
) async throws(DiskCacheError) -> Value {
    try await withCheckedContinuation { continuation in
        begin { continuation.resume(returning: $0) }
    }.get()
}

extension DiskCache {
    package func stored(_ key: String, expectingURL url: String? = nil) async throws(DiskCacheError) -> StoredEntry? {
        try await outcome { find(key, expectingURL: url, then: $0) }
    }

    @discardableResult
    package func outdate(_ key: String) async throws(DiskCacheError) -> Entry? {
        try await outcome { outdate(key, completion: $0) }
    }

    @discardableResult
    package func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, addingTags: [String] = [], pinned: Bool? = nil
    ) async throws(DiskCacheError) -> Entry? {
        try await outcome { update(key, ttl: ttl, tags: tags, addingTags: addingTags, pinned: pinned, completion: $0) }
    }

    @discardableResult
    package func remove(_ key: String) async throws(DiskCacheError) -> Bool {
        try await outcome { remove(key, completion: $0) }
    }

    @discardableResult
    package func remove(matching filter: EntryFilter) async throws(DiskCacheError) -> Int {
        try await remove(matching: [filter])
    }

    @discardableResult
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil
    ) async throws(DiskCacheError) -> Int {
        try await outcome { remove(matching: filters, sparing: reservation, completion: $0) }
    }

    /// Waits until the index has all pending hits, last accesses and renewed expiry dates.
    package func flush() async throws(DiskCacheError) {
        try await outcome { flush(completion: $0) }
    }
}

extension Reservation {
    package func publish(
        _ metadata: EntryMetadata, expectedLength: Int64? = nil, condition: (@Sendable (Entry?) -> Bool)? = nil
    ) async throws(DiskCacheError) -> PublishOutcome {
        try await outcome {
            publish(metadata, expectedLength: expectedLength, condition: condition, completion: $0)
        }
    }

    package func publishUnchanged(
        _ entry: Entry, _ refresh: EntryMetadata
    ) async throws(DiskCacheError) -> PublishOutcome {
        try await outcome { publishUnchanged(entry, refresh, completion: $0) }
    }
}
