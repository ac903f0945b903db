import Primitives

extension DiskCache {
    /// Begins to receive a body. A body from an origin is not kept if a later purge matches the arguments. `tags` are
    /// added to the tags of the metadata. `pinned: nil`: the entry is pinned if the replaced entry is. If the pinned
    /// entries leave no room for an unpinned entry, the store is refused, and evicts no other entry.
    package func reserve(
        _ key: CacheKey, kind: Entry.Kind, url: String? = nil, tags: [String] = [], pinned: Bool? = nil
    ) -> Reservation {
        Reservation(
            PendingStore(key: key, kind: kind, url: url, tags: tags), pinned: pinned, parts: parts, writer: writer)
    }

    /// Begins to receive a response to a URL, when the variant is not known before the head of the response arrives.
    /// Until ``Reservation/decide(_:tags:)`` is called, a purge of any variant of the URL matches the response.
    package func reserve(responseTo url: ResponseURL, tags: [String] = []) -> Reservation {
        let store = PendingStore(
            key: .response(to: url, variant: ""), kind: .response, url: url.text, tags: tags, isVariantOpen: true)
        return Reservation(store, pinned: nil, parts: parts, writer: writer)
    }

    /// Room for a temporary file on the file system of the cache. Takes no room yet.
    package func makeTemporaryRoom() -> TemporaryRoom { TemporaryRoom(parts: parts, writer: writer) }

    /// Changes metadata; `nil` leaves a value as it is. The `ttl` counts from now; with zero or less the entry is stale
    /// at once, and a ``Entry/Kind/json`` or ``Entry/Kind/data`` entry is removed. `tags` replace the tags; a
    /// `staleAllowance` below the entry's has no effect. `condition` gets the entry at the instant of the change, and
    /// must not wait; `false` ends with ``DiskCacheError/conditionFailed``. `completion` gets the durable entry, or
    /// `nil` if the key now has no entry. A fetch that began before the change does not undo the change.
    package func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, addingTags: [String] = [], pinned: Bool? = nil,
        staleAllowance: Duration = .zero, fields: (@Sendable (String) -> String)? = nil,
        condition: (@Sendable (Entry?) -> Bool)? = nil, completion: @escaping Completion<Entry?>
    ) {
        writer.submit(
            { context in
                // Writes pending hits and a renewed expiry date first, so that this update overrides them.
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
                if let fields { record.fields = record.fields.map(fields) }
                let newTTL = ttl.map { max($0, .zero) }
                let entry = Entry(
                    record, ttl: newTTL ?? row.entry.ttl,
                    expiryDate: newTTL.map { context.now + $0 } ?? row.entry.expiryDate, hits: row.entry.hits,
                    lastAccessDate: row.entry.lastAccessDate)
                let changed = try context.change(row, to: entry)
                let patch = PendingStore.Patch(
                    ttl: newTTL, expiryDate: entry.expiryDate, fields: fields, pinned: pinned, tags: tags)
                context.parts.pendingStores.patch(key, patch, context.journal)
                return changed
            }, completion: completion)
    }

    /// Makes an entry stale, because the origin has another version by now. A ``Entry/Kind/json`` or
    /// ``Entry/Kind/data`` entry is removed. A body from an origin that is being received under the key is not kept,
    /// because it may be the older version. `completion` gets the durable entry; `nil` if the key now has no entry.
    package func outdate(_ key: String, completion: @escaping Completion<Entry?>) {
        writer.submit(
            // Makes no room, but must succeed on a full disk, as the removal in place of which it is made.
            makesRoom: true,
            { context in
                try context.flushHits(only: key)
                _ = context.parts.pendingStores.purge([PurgeScope(filter: EntryFilter(key: key), tags: nil)])
                guard let row = try context.index.row(forKey: key) else { return nil }
                if row.entry.kind == .json || row.entry.kind == .data {
                    try context.remove(row)
                    return nil
                }
                let entry = Entry(
                    row.entry.record, ttl: .zero, expiryDate: context.now, hits: row.entry.hits,
                    lastAccessDate: row.entry.lastAccessDate)
                return try context.change(row, to: entry)
            }, completion: completion)
    }

    /// Removes the entry of a key. A body from an origin that is being received under that key is not kept. `condition`
    /// gets the entry, or `nil`, at the instant of the removal, and must not wait; `false` ends with
    /// ``DiskCacheError/conditionFailed``. `completion` gets whether there was an entry, once the removal is durable.
    package func remove(
        _ key: String, condition: (@Sendable (Entry?) -> Bool)? = nil, completion: @escaping Completion<Bool>
    ) {
        writer.submit(
            makesRoom: true,
            { context in
                let row = try context.index.row(forKey: key)
                if let condition, !condition(row?.entry) { throw DiskCacheError.conditionFailed }
                // A purge by key alone never depends on the index, so it returns no ``PendingStores/Doubt``.
                _ = context.parts.pendingStores.purge([PurgeScope(filter: EntryFilter(key: key), tags: nil)])
                guard let row else { return false }
                try context.remove(row)
                return true
            }, completion: completion)
    }

    /// Removes the entries that match any of `filters` and were published before now, in steps between which other
    /// operations run. Matching bodies from an origin that are being received are not kept, except the body of
    /// `reservation`, because its response causes this removal. `completion` gets the number of removed entries once
    /// the removal is durable. After an error, some entries may be gone. If an entry matches and `condition` does not
    /// hold at the beginning, `completion` gets ``DiskCacheError/conditionFailed``, and no entry is removed. Held
    /// entries stay, and count nowhere, unless a filter names their key or URL. With `removesHeld`, they go, too.
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil, condition: RemovalCondition? = nil,
        removesHeld: Bool = false, completion: @escaping Completion<Int>
    ) {
        let spared = reservation?.number(in: parts)
        let telling = BulkRemoval(verb: .removed, filter: filters.count == 1 ? filters[0] : nil)
        let begun = Locked<Purge?>(nil)
        let begin: @Sendable (WriteContext, Timestamp, Int) throws -> Int = { context, now, limit in
            try context.check(condition, filters, now: now)
            // Uses the same instant as the removal of the rows, so that no store brings back an entry removed here.
            try context.purgeStores(filters, sparing: spared, now: now)
            let purge = Purge(
                filters: filters, now: now, lastVersion: context.totals.sequence, telling: telling,
                removesHeld: removesHeld)
            context.journal.onCommit { begun.withLock { $0 = purge } }
            return try purge.step(context, after: 0, limit: limit)
        }
        removeInSteps(telling, completion) { [self] removed, limit, ended in
            if let purge = begun.withLock({ $0 }) {
                writer.submit(
                    makesRoom: true, { try purge.step($0, after: removed, limit: limit) }, completion: ended)
            } else if filters.contains(where: { $0.state != nil }) {
                submitAfterSlides(limit: limit, { try begin($0, $1, limit) }, completion: ended)
            } else {
                writer.submit(makesRoom: true, { try begin($0, $0.now, limit) }, completion: ended)
            }
        }
    }

    /// Counts the entries that a removal by the filter would remove: held entries only if the filter names a key or
    /// URL. Waits for the disk.
    package func count(matching filter: EntryFilter) throws(DiskCacheError) -> Int {
        try parts.reader.count(.purge(filter, now: parts.clock.now()))
    }

    /// Removes the useless expired entries (``EntryRow/isSweepable``). The first step of ``maintain(completion:)``.
    package func sweepExpired(completion: @escaping Completion<Int>) {
        let telling = BulkRemoval(verb: .expired)
        removeInSteps(telling, completion) { [self] removed, limit, ended in
            submitAfterSlides(
                limit: limit,
                { context, start in
                    let query = Self.sweepQuery(now: start)
                    return try context.remove(query, because: .expired, limit: limit, telling, after: removed)
                }, completion: ended)
        }
    }

    /// The most entries that a transaction removes, because other operations wait for it, and a longer commit delays
    /// hits by occupying a processor. On a full disk a step removes fewer: as many as the index's log has room for.
    private static let stepLimit = 100
    /// The most renewed expiry dates that a transaction writes for each entry that it may remove: 4,000 in all.
    private static let slidesPerRemoval = 40

    /// Runs `work`, which removes up to `limit` entries, after writing all renewed expiry dates that were pending at
    /// the first transaction, because they decide which entries have expired. Many dates take several transactions,
    /// between which other operations run. `work` gets the time `start` of the first transaction: an entry that had
    /// expired at that time counts as expired.
    private func submitAfterSlides(
        limit: Int, since start: Timestamp? = nil,
        _ work: @escaping @Sendable (WriteContext, _ start: Timestamp) throws -> Int,
        completion: @escaping Completion<Int>
    ) {
        writer.submit(
            makesRoom: true,
            { context -> (start: Timestamp, count: Int?) in
                if start == nil { context.parts.hits.markSlides() }
                let start = start ?? context.now
                // On a full disk `limit` is smaller, so that the transaction also writes fewer renewed expiry dates.
                try context.flushHits(limit: .marked(Self.slidesPerRemoval * limit))
                return (start, context.parts.hits.hasMarkedSlides ? nil : try work(context, start))
            },
            completion: { [self] result in
                switch result {
                case .success((_, let count?)): completion(.success(count))
                case .success((let start, nil)):
                    submitAfterSlides(limit: limit, since: start, work, completion: completion)
                case .failure(let error): completion(.failure(error))
                }
            })
    }

    static func sweepQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery.unfiltered
        query.restrict("sweepable = 1 AND expiry <= ?", [now.milliseconds])
        return query
    }

    /// Runs `step` until it removes fewer entries than `limit`. `removed` is the number that earlier steps removed.
    private func removeInSteps(
        removed: Int = 0, limit: Int = stepLimit, _ telling: BulkRemoval, _ completion: @escaping Completion<Int>,
        step: @escaping @Sendable (_ removed: Int, _ limit: Int, _ ended: @escaping Completion<Int>) -> Void
    ) {
        step(removed, limit) { [self] result in
            switch result {
            case .success(let count) where count == limit:
                let next = min(limit * 2, Self.stepLimit)
                removeInSteps(removed: removed + count, limit: next, telling, completion, step: step)
            // A smaller step needs less room in the index's log, and its removals make room for the next step.
            case .failure(.noSpace) where limit > 1:
                removeInSteps(removed: removed, limit: limit / 2, telling, completion, step: step)
            case .success, .failure:
                let total = result.map { removed + $0 }
                if let rest = telling.rest(of: (try? total.get()) ?? removed) { parts.tell([rest]) }
                completion(total)
            }
        }
    }
}
