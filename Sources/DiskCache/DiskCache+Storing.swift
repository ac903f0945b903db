import Primitives

extension DiskCache {
    /// Begins to receive a body: the way in for entries of every kind.
    ///
    /// From now on a purge that matches what is given here keeps the entry-to-be from being kept.
    ///
    /// - Parameters:
    ///   - key: of the entry to be.
    ///   - kind: where it comes from.
    ///   - url: the canonical URL; `nil` for ``Entry/Kind/data``.
    ///   - tags: that it will have, beside those of its metadata.
    ///   - pinned: whether it will be pinned; `nil`: as the one that it replaces. What is not pinned is refused where
    ///     pinned entries leave it no room to stay, before anything goes for it.
    public func reserve(
        _ key: CacheKey, kind: Entry.Kind, url: String? = nil, tags: [String] = [], pinned: Bool? = nil
    ) -> Reservation {
        Reservation(
            Flight(key: key, kind: kind, url: url, tags: tags), pinned: pinned, parts: parts, writer: writer)
    }

    /// Begins to receive an origin's answer to a URL, of which only its head will tell which variant it is: until
    /// ``Reservation/decide(_:tags:)`` says so, a purge of any variant of the URL means it.
    public func reserve(responseTo url: ResponseURL, tags: [String] = []) -> Reservation {
        let flight = Flight(
            key: .response(to: url, variant: ""), kind: .response, url: url.text, tags: tags, isVariantOpen: true)
        return Reservation(flight, pinned: nil, parts: parts, writer: writer)
    }

    /// Changes what a caller may change of an entry; what is `nil` stays.
    ///
    /// - Parameters:
    ///   - ttl: from now. Zero or less: stale at once, and what a caller stored (``Entry/Kind/json``,
    ///     ``Entry/Kind/data``) is removed.
    ///   - tags: instead of those it has.
    ///   - addingTags: beside those it has, or those that `tags` gives it.
    ///   - pinned: whether eviction spares it.
    ///   - fields: makes the new ``Entry/fields`` of the entry as it is; `nil`: they stay.
    ///   - condition: sees the entry at the instant of its change; when it returns `false` nothing is changed. It must
    ///     not wait. `nil`: none.
    ///   - completion: gets the changed entry, or `nil` when there is none (any more), once that is durable; or
    ///     ``DiskCacheError/conditionFailed``.
    public func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, addingTags: [String] = [], pinned: Bool? = nil,
        fields: (@Sendable (Entry) -> String?)? = nil, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        writer.submit(
            { context in
                // First what was noted before: this has the last word.
                try context.flushAccess(only: key)
                guard let row = try context.index.row(forKey: key) else { return nil }
                if let condition, !condition(row.entry) { throw DiskCacheError.conditionFailed }
                if let ttl, ttl <= .zero, row.entry.kind == .json || row.entry.kind == .data {
                    try context.remove(row)
                    return nil
                }
                var record = row.entry.record
                record.tags = TagUnion.tags(tags ?? record.tags, adding: addingTags)
                record.pinned = pinned ?? record.pinned
                if let fields { record.fields = fields(row.entry) }
                let newTTL = ttl.map { max($0, .zero) }
                let entry = Entry(
                    record, ttl: newTTL ?? row.entry.ttl,
                    expiryDate: newTTL.map { context.now + $0 } ?? row.entry.expiryDate, hits: row.entry.hits,
                    lastAccessDate: row.entry.lastAccessDate)
                return try context.change(row, to: entry)
            }, completion: completion)
    }

    /// ``update(_:ttl:tags:addingTags:pinned:fields:condition:completion:)``, and waits.
    public func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, pinned: Bool? = nil
    ) async throws(DiskCacheError) -> Entry? {
        try await withCheckedContinuation { continuation in
            update(key, ttl: ttl, tags: tags, pinned: pinned) { continuation.resume(returning: $0) }
        }.get()
    }
}
