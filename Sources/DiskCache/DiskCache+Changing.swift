import Primitives

extension DiskCache {
    /// Begins to receive a body. From now on, a purge that matches the arguments keeps a body from an origin from being
    /// kept. `tags` are added to the tags of the metadata. `pinned` `nil`: as the entry that it replaces; if the pinned
    /// entries leave no room for an unpinned entry, the store is refused before another entry is evicted for it.
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

    /// Changes the metadata that a caller may change; `nil` leaves a field as it is. The `ttl` counts from now; with
    /// zero or less the entry is stale at once, and an entry that a caller stored (``Entry/Kind/json``,
    /// ``Entry/Kind/data``) is removed. `tags` replace the current tags; `staleAllowance` only extends the entry's own.
    /// `condition` gets the entry at the instant of the change, and must not wait; `false` ends with
    /// ``DiskCacheError/conditionFailed``. `completion` gets the changed entry once it is durable; `nil` when there is
    /// none (any more). A download that began before the change does not undo it.
    package func update(
        _ key: String, ttl: Duration? = nil, tags: [String]? = nil, addingTags: [String] = [], pinned: Bool? = nil,
        staleAllowance: Duration = .zero, fields: (@Sendable (Entry) -> String?)? = nil,
        condition: (@Sendable (Entry?) -> Bool)? = nil, completion: @escaping Completion<Entry?>
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
                // A filter by key alone leaves no doubts, so the result is empty.
                _ = context.parts.pendingStores.purge(PurgeScope.scopes(of: [EntryFilter(key: key)]))
                guard let row else { return false }
                try context.remove(row)
                return true
            }, completion: completion)
    }

    /// Removes every entry that matches any of `filters`, all at the same instant, and was published before now.
    /// Matching bodies from an origin that are being received are not kept, except that of `reservation`, because a
    /// response must not be dropped by the invalidation that it causes itself. The removal runs in steps, between which
    /// other operations run. `completion` gets the number of removed entries, once all removals are durable. After an
    /// error, some entries may be gone. If an entry matches and `condition` does not hold when the removal begins,
    /// `completion` gets ``DiskCacheError/conditionFailed``, and no entry is removed.
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil, condition: RemovalCondition? = nil,
        completion: @escaping Completion<Int>
    ) {
        purge(filters, sparing: reservation?.number(in: parts), condition: condition, limit: Self.stepLimit, completion)
    }

    package func count(matching filter: EntryFilter) throws(DiskCacheError) -> Int {
        try parts.reader.count(EntryQuery(filter, now: parts.clock.now()))
    }

    /// Removes the entries that are of no more use (``EntryRow/isSweepable``). ``maintain(completion:)`` calls it, too.
    package func sweepExpired(completion: @escaping Completion<Int>) {
        sweep(removed: 0, limit: Self.stepLimit, completion)
    }

    // MARK: - Steps

    /// The most entries that a transaction removes, because other operations wait behind it. On a full disk it is
    /// fewer: as many as the log has room for. Longer commits would hold a processor for longer and delay hits.
    private static let stepLimit = 100
    /// The most slides that a transaction writes for each entry that it may remove: 4,000 in all.
    private static let slidesPerRemoval = 40

    private func purge(
        _ filters: [EntryFilter], sparing spared: Int?, condition: RemovalCondition?, limit: Int,
        _ completion: @escaping Completion<Int>
    ) {
        let begin: @Sendable (WriteContext, Timestamp) throws -> (Purge, Int) = { context, now in
            try context.check(condition, filters, now: now)
            // Uses the same instant as the rows, so that no store publishes an entry again that is removed here.
            try context.purgeStores(filters, sparing: spared, now: now)
            let purge = Purge(filters: filters, now: now, lastVersion: context.totals.sequence)
            return (purge, try purge.step(context, after: 0, limit: limit))
        }
        let done: Completion<(Purge, Int)> = { [self] result in
            switch result {
            case .success((let purge, let removed)):
                stepEnded(.success(removed), removed: 0, limit: limit, purge.telling, completion) { [self] in
                    goOn(purge, removed: $0, limit: $1, completion)
                }
            case .failure(let error):
                stepEnded(.failure(error), removed: 0, limit: limit, nil, completion) { [self] in
                    purge(filters, sparing: spared, condition: condition, limit: $1, completion)
                }
            }
        }
        if filters.contains(where: { $0.state != nil }) {
            submitAfterSlides(limit: limit, begin, completion: done)
        } else {
            writer.submit(makesRoom: true, { try begin($0, $0.now) }, completion: done)
        }
    }

    /// Runs `work`, which removes up to `limit` entries, after writing all slides that were pending at the first
    /// transaction, because slides decide which entries have expired. There may be any number of them, so they take
    /// several transactions, between which other operations run. `work` gets the time `start` of the first transaction:
    /// an entry that had expired by then counts as expired.
    private func submitAfterSlides<Value: Sendable>(
        limit: Int, since start: Timestamp? = nil,
        _ work: @escaping @Sendable (WriteContext, _ start: Timestamp) throws -> Value,
        completion: @escaping Completion<Value>
    ) {
        writer.submit(
            makesRoom: true,
            { context -> (start: Timestamp, value: Value?) in
                if start == nil { context.parts.hits.markSlides() }
                let start = start ?? context.now
                // On a full disk `limit` is smaller, and so is this number.
                guard try context.flushMarkedSlides(limit: Self.slidesPerRemoval * limit) else { return (start, nil) }
                return (start, try work(context, start))
            },
            completion: { [self] result in
                switch result {
                case .success((_, let value?)): completion(.success(value))
                case .success((let start, nil)):
                    submitAfterSlides(limit: limit, since: start, work, completion: completion)
                case .failure(let error): completion(.failure(error))
                }
            })
    }

    private func goOn(_ purge: Purge, removed: Int, limit: Int, _ completion: @escaping Completion<Int>) {
        writer.submit(
            makesRoom: true, { try purge.step($0, after: removed, limit: limit) },
            completion: { [self] result in
                stepEnded(result, removed: removed, limit: limit, purge.telling, completion) { [self] in
                    goOn(purge, removed: $0, limit: $1, completion)
                }
            })
    }

    private func sweep(removed: Int, limit: Int, _ completion: @escaping Completion<Int>) {
        let telling = BulkRemoval(verb: .expired)
        submitAfterSlides(
            limit: limit,
            { context, start in
                let query = Self.sweepQuery(now: start)
                return try context.remove(query, because: .expired, limit: limit, telling, after: removed)
            },
            completion: { [self] result in
                stepEnded(result, removed: removed, limit: limit, telling, completion) { [self] in
                    sweep(removed: $0, limit: $1, completion)
                }
            })
    }

    static func sweepQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(.all, now: now)
        query.restrict("sweepable = 1 AND expiry <= ?", [now.milliseconds])
        return query
    }

    /// Continues after a step that was to remove `limit` entries, or ends the removal. `removed` entries went before.
    private func stepEnded(
        _ result: Result<Int, DiskCacheError>, removed: Int, limit: Int, _ telling: BulkRemoval?,
        _ completion: (Result<Int, DiskCacheError>) -> Void, more: (_ removed: Int, _ limit: Int) -> Void
    ) {
        switch result {
        case .success(let count) where count == limit: more(removed + count, min(limit * 2, Self.stepLimit))
        // Each removed entry makes room for further removals, so a smaller step may succeed.
        case .failure(.noSpace) where limit > 1: more(removed, limit / 2)
        case .success, .failure:
            let total = result.map { removed + $0 }
            if let rest = telling?.rest(of: (try? total.get()) ?? removed) { parts.tell([rest]) }
            completion(total)
        }
    }
}
