import Primitives

extension DiskCache {
    /// Removes the entry of a key. A body from an origin that is being received under that key is not kept.
    ///
    /// - Parameters:
    ///   - condition: gets the entry, or `nil` when there is none, at the instant of the removal. When it returns
    ///     `false`, no entry is removed. It must not wait.
    ///   - completion: gets whether there was an entry, once the removal is durable; or
    ///     ``DiskCacheError/conditionFailed``.
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
                _ = context.parts.flights.purge(PurgeScope.scopes(of: [EntryFilter(key: key)]))
                guard let row else { return false }
                try context.remove(row)
                return true
            }, completion: completion)
    }

    /// ``remove(_:condition:completion:)``, and waits.
    @discardableResult
    package func remove(_ key: String) async throws(DiskCacheError) -> Bool {
        try await withCheckedContinuation { continuation in
            remove(key) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Removes every entry that matches the filter and was published before now. Matching bodies from an origin that
    /// are being received are not kept.
    ///
    /// The removal runs in steps, between which other operations run. `completion` gets the number of removed entries,
    /// once all removals are durable. After an error, some entries may be gone.
    ///
    /// - Parameter condition: must hold when the removal begins. Otherwise no entry is removed, and `completion` gets
    ///   ``DiskCacheError/conditionFailed``. It is ignored when no entry matches. `nil`: no condition.
    package func remove(
        matching filter: EntryFilter, condition: RemovalCondition? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge([filter], sparing: nil, condition: condition, limit: Self.stepLimit, completion)
    }

    /// Removes every entry that matches any of `filters`, as ``remove(matching:condition:completion:)`` does for a
    /// single filter. All filters apply at the same instant. Without filters, no entry is removed.
    ///
    /// - Parameters:
    ///   - filters: the filters. An entry is removed when a filter matches it.
    ///   - reservation: a reservation that the purge spares, because a response must not be dropped by the invalidation
    ///     that it causes itself.
    ///   - completion: see ``remove(matching:condition:completion:)``.
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge(
            filters, sparing: reservation?.number(in: parts), condition: nil, limit: Self.stepLimit, completion)
    }

    /// ``remove(matching:condition:completion:)``, and waits.
    @discardableResult
    package func remove(matching filter: EntryFilter) async throws(DiskCacheError) -> Int {
        try await remove(matching: [filter])
    }

    /// ``remove(matching:sparing:completion:)``, and waits.
    @discardableResult
    package func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil
    ) async throws(DiskCacheError) -> Int {
        try await withCheckedContinuation { continuation in
            remove(matching: filters, sparing: reservation) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The number of entries that match.
    package func count(matching filter: EntryFilter) throws(DiskCacheError) -> Int {
        try parts.reader.count(EntryQuery(filter, now: parts.clock.now()))
    }

    /// Removes the entries that are of no more use: expired, not pinned, without a validator for a revalidation, and
    /// without a stale allowance. ``maintain(completion:)`` calls it, too. `completion` gets the number of removed
    /// entries.
    package func sweepExpired(completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void) {
        sweep(removed: 0, limit: Self.stepLimit, completion)
    }

    // MARK: - Steps

    /// The most entries that a transaction removes, because other operations wait behind it. On a full disk it is
    /// fewer: as many as the log has room for. Longer commits would hold a processor for longer and delay hits.
    private static let stepLimit = 100

    /// The most slides that a transaction writes for each entry that it may remove: 4,000 in all.
    private static let slidesPerRemoval = 40

    /// A purge in progress. It removes the entries that were published before it began. The marks of the flights cover
    /// the bodies that are published later.
    private struct Purge: Sendable {
        var filters: [EntryFilter]
        var now: Timestamp
        var lastVersion: Int64

        /// How the observer is told about the removals.
        var telling: BulkRemoval { BulkRemoval(.removed, by: filters.count == 1 ? filters[0] : nil) }

        /// Removes at most `limit` entries, and returns their number. `count` is the number of entries removed before.
        func step(_ context: WriteContext, after count: Int, limit: Int) throws -> Int {
            var removed = 0
            for filter in filters where removed < limit {
                var query = EntryQuery(filter, now: now)
                query.restrict("version <= ?", [lastVersion])
                removed += try context.remove(
                    query, because: .purged, limit: limit - removed, telling, after: count + removed)
            }
            return removed
        }
    }

    /// Begins a purge, and continues until it is done.
    private func purge(
        _ filters: [EntryFilter], sparing spared: Int?, condition: RemovalCondition?, limit: Int,
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        let begin: @Sendable (WriteContext, Timestamp) throws -> (Purge, Int) = { context, now in
            try context.check(condition, filters, now: now)
            // Uses the same instant as the rows, so that no flight publishes an entry again that is removed here.
            try context.purgeFlights(filters, sparing: spared, now: now)
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
    /// between which other operations run. `work` gets the time of the first transaction: an entry that had expired by
    /// then counts as expired.
    ///
    /// - Parameters:
    ///   - limit: the number of entries that `work` is to remove.
    ///   - start: the time of the first transaction. `nil`: this is the first.
    private func submitAfterSlides<Value: Sendable>(
        limit: Int, since start: Timestamp? = nil,
        _ work: @escaping @Sendable (WriteContext, _ start: Timestamp) throws -> Value,
        completion: @escaping @Sendable (Result<Value, DiskCacheError>) -> Void
    ) {
        writer.submit(
            makesRoom: true,
            { context -> (start: Timestamp, value: Value?) in
                if start == nil { context.parts.access.markSlides() }
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

    /// Selects the entries that have expired and are of no more use.
    static func sweepQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(.all, now: now)
        query.restrict("sweepable = 1 AND expiry <= ?", [now.milliseconds])
        return query
    }

    /// Continues after a step that was to remove `limit` entries. Calls `more` with a new limit, or ends the removal.
    ///
    /// - Parameters:
    ///   - removed: the number of entries removed before this step.
    ///   - telling: how the observer is told about the removals. `nil`: no entry was removed.
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

    /// Notifies the observer about entries that were removed without an event of their own.
    private func tellRest(of count: Int, _ telling: BulkRemoval?) {
        if let rest = telling?.rest(of: count) { parts.tell([rest]) }
    }
}

/// A condition on the entry of a key, checked when a removal begins.
package struct RemovalCondition: Sendable {
    /// The key.
    package var key: String
    /// Gets the entry, or `nil` when there is none, and returns whether the condition holds. It must not wait.
    package var holds: @Sendable (Entry?) -> Bool

    /// Makes a condition on the entry of a key.
    package init(key: String, holds: @escaping @Sendable (Entry?) -> Bool) {
        self.key = key
        self.holds = holds
    }
}

extension WriteContext {
    /// Throws ``DiskCacheError/conditionFailed`` when the condition does not hold and there are entries to remove.
    fileprivate func check(_ condition: RemovalCondition?, _ filters: [EntryFilter], now: Timestamp) throws {
        guard let condition, !condition.holds(try index.row(forKey: condition.key)?.entry) else { return }
        for filter in filters where try !index.rows(EntryQuery(filter, now: now), limit: 1).isEmpty {
            throw DiskCacheError.conditionFailed
        }
    }

    /// Removes the entries that `query` finds, at most `limit`, and returns their number. `count` is the number of
    /// entries removed before.
    fileprivate func remove(
        _ query: EntryQuery, because cause: RemovalCause, limit: Int, _ telling: BulkRemoval, after count: Int
    ) throws -> Int {
        // The thread may yield from here to the end of the transaction, including the commit and the checkpoint that
        // may follow.
        Processor.share()
        let rows = try index.rows(query, limit: limit)
        for (number, row) in rows.enumerated() {
            Processor.offer()
            try remove(row, because: cause, as: telling.verb(after: count + number))
        }
        return rows.count
    }

    /// Marks the flights that a purge matches.
    ///
    /// A flight that is to bring a held entry up to date must not bring it back after a purge of that entry. The purge
    /// may match the entry alone, by a tag that only the entry has or because the entry is stale. Only for such flights
    /// the index is asked, and only once for all flights with the same keys and URL.
    fileprivate func purgeFlights(_ filters: [EntryFilter], sparing spared: Int?, now: Timestamp) throws {
        var known: [ExactText: Bool] = [:]
        for doubt in parts.flights.purge(PurgeScope.scopes(of: filters), sparing: spared) {
            let (first, last) = doubt.heldKeys
            // Flights with the same keys and URL also have the same scopes.
            let question = ExactText("\(first) \(doubt.url ?? "")")
            let isMeant =
                try known[question]
                ?? index.holds(from: first, to: last) { held in doubt.scopes.contains { $0.means(held, now: now) } }
            known[question] = isMeant
            if isMeant { doubt.purged.set() }
        }
    }
}
