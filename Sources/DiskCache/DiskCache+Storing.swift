import Primitives

extension DiskCache {
    /// Begins to receive a body, for an entry of any kind. From now on, a purge that matches the arguments keeps the
    /// future entry from being kept, if the body comes from an origin. `tags` are added to the tags of the metadata.
    /// `pinned` `nil`: as the entry that it replaces; if the pinned entries leave no room for an unpinned entry, the
    /// store is refused before another entry is evicted for it.
    package func reserve(
        _ key: CacheKey, kind: Entry.Kind, url: String? = nil, tags: [String] = [], pinned: Bool? = nil
    ) -> Reservation {
        Reservation(
            PendingStore(key: key, kind: kind, url: url, tags: tags), pinned: pinned, parts: parts, writer: writer)
    }

    /// Begins to receive a response to a URL when only its head will tell the variant. Until
    /// ``Reservation/decide(_:tags:)`` is called, a purge of any variant of the URL matches it.
    package func reserve(responseTo url: ResponseURL, tags: [String] = []) -> Reservation {
        let store = PendingStore(
            key: .response(to: url, variant: ""), kind: .response, url: url.text, tags: tags, isVariantOpen: true)
        return Reservation(store, pinned: nil, parts: parts, writer: writer)
    }

    /// Changes the metadata that a caller may change. Arguments that are `nil` leave their field as it is. The `ttl`
    /// counts from now; with zero or less the entry is stale at once, and an entry that a caller stored
    /// (``Entry/Kind/json``, ``Entry/Kind/data``) is removed. `tags` replace the current tags. `condition` gets the
    /// entry at the instant of the change, and must not wait; `false` ends with ``DiskCacheError/conditionFailed``.
    /// `completion` gets the changed entry once it is durable, or `nil` when there is none (any more). A download that
    /// began before the change does not undo it. `staleAllowance` only extends the entry's own.
    package func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, addingTags: [String] = [], pinned: Bool? = nil,
        staleAllowance: Duration = .zero, fields: (@Sendable (Entry) -> String?)? = nil,
        condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        writer.submit(
            { context in
                // Pending hits and slides are written first, so that this update overrides them.
                try context.flushHits(only: key)
                guard let row = try context.index.row(forKey: key) else { return nil }
                if let condition, !condition(row.entry) { throw DiskCacheError.conditionFailed }
                if let ttl, ttl <= .zero, row.entry.kind == .json || row.entry.kind == .data {
                    try context.remove(row)
                    return nil
                }
                var record = row.entry.record
                record.tags = TagUnion.tags(tags ?? record.tags, adding: addingTags)
                record.pinned = pinned ?? record.pinned
                record.staleAllowance = max(staleAllowance, record.staleAllowance)
                if let fields { record.fields = fields(row.entry) }
                let newTTL = ttl.map { max($0, .zero) }
                let entry = Entry(
                    record, ttl: newTTL ?? row.entry.ttl,
                    expiryDate: newTTL.map { context.now + $0 } ?? row.entry.expiryDate, hits: row.entry.hits,
                    lastAccessDate: row.entry.lastAccessDate)
                let changed = try context.change(row, to: entry)
                context.parts.pendingStores.patch(
                    key,
                    PendingStore.Patch(
                        ttl: newTTL, expiryDate: newTTL.map { _ in entry.expiryDate }, pinned: pinned, tags: tags))
                return changed
            }, completion: completion)
    }
}
