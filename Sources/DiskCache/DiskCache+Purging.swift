import Primitives

extension DiskCache {
    /// Removes the entry of a key. A body from an origin that is being received under that key is not kept. `condition`
    /// gets the entry, or `nil`, at the instant of the removal, and must not wait; `false` ends with
    /// ``DiskCacheError/conditionFailed``. `completion` gets whether there was an entry, once the removal is durable.
    package func remove(
        _ key: String, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Bool, DiskCacheError>) -> Void
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

    /// Removes every entry that matches the filter and was published before now. Matching bodies from an origin that
    /// are being received are not kept. The removal runs in steps, between which other operations run. `completion`
    /// gets the number of removed entries, once all removals are durable. After an error, some entries may be gone. If
    /// an entry matches and `condition` does not hold when the removal begins, `completion` gets
    /// ``DiskCacheError/conditionFailed``, and no entry is removed.
    package func remove(
        matching filter: EntryFilter, condition: RemovalCondition? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge([filter], sparing: nil, condition: condition, limit: Self.stepLimit, completion)
    }

    /// Removes every entry that matches any of `filters`, as ``remove(matching:condition:completion:)`` does for a
    /// single filter. All filters apply at the same instant. Spares `reservation`, because a response must not be
    /// dropped by the invalidation that it causes itself.
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge(
            filters, sparing: reservation?.number(in: parts), condition: nil, limit: Self.stepLimit, completion)
    }

    package func count(matching filter: EntryFilter) throws(DiskCacheError) -> Int {
        try parts.reader.count(EntryQuery(filter, now: parts.clock.now()))
    }

    /// Removes the entries that are of no more use (``EntryRow/isSweepable``). ``maintain(completion:)`` calls it, too.
    package func sweepExpired(completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void) {
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
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        let begin: @Sendable (WriteContext, Timestamp) throws -> (Purge, Int) = { context, now in
            try context.check(condition, filters, now: now)
            // Uses the same instant as the rows, so that no store publishes an entry again that is removed here.
            try context.purgeStores(filters, sparing: spared, now: now)
            let purge = Purge(filters: filters, now: now, lastVersion: context.totals.sequence)
            return (purge, try purge.step(context, after: 0, limit: limit))
        }
        let done: @Sendable (Result<(Purge, Int), DiskCacheError>) -> Void = { [self] result in
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

    /// Runs `work` in a transaction after writing all slides that were pending at the first transaction. Slides decide
    /// which entries have expired. There may be any number of them, so they are written in several transactions,
    /// between which other operations run. `work` removes up to `limit` entries. It gets the time `start` of the first
    /// transaction: an entry that had expired by then counts as expired.
    private func submitAfterSlides<Value: Sendable>(
        limit: Int, since start: Timestamp? = nil,
        _ work: @escaping @Sendable (WriteContext, _ start: Timestamp) throws -> Value,
        completion: @escaping @Sendable (Result<Value, DiskCacheError>) -> Void
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

    private func goOn(
        _ purge: Purge, removed: Int, limit: Int,
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        writer.submit(
            makesRoom: true, { try purge.step($0, after: removed, limit: limit) },
            completion: { [self] result in
                stepEnded(result, removed: removed, limit: limit, purge.telling, completion) { [self] in
                    goOn(purge, removed: $0, limit: $1, completion)
                }
            })
    }

    private func sweep(
        removed: Int, limit: Int, _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        let telling = BulkRemoval(.expired)
        submitAfterSlides(
            limit: limit,
            { context, start in
                try context.remove(
                    Self.sweepQuery(now: start), because: .expired, limit: limit, telling, after: removed)
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

    /// Continues after a step that was to remove `limit` entries, or ends the removal. `removed` entries went before
    /// the step. Without `telling`, no entry was removed.
    private func stepEnded(
        _ result: Result<Int, DiskCacheError>, removed: Int, limit: Int, _ telling: BulkRemoval?,
        _ completion: (Result<Int, DiskCacheError>) -> Void, more: (_ removed: Int, _ limit: Int) -> Void
    ) {
        switch result {
        case .success(let count) where count == limit: more(removed + count, min(limit * 2, Self.stepLimit))
        case .success(let count):
            tellRest(of: removed + count, telling)
            completion(.success(removed + count))
        // Each removed entry makes room for further removals, so a smaller step may succeed.
        case .failure(.noSpace) where limit > 1: more(removed, limit / 2)
        case .failure(let error):
            tellRest(of: removed, telling)
            completion(.failure(error))
        }
    }

    private func tellRest(of count: Int, _ telling: BulkRemoval?) {
        if let rest = telling?.rest(of: count) { parts.tell([rest]) }
    }
}
