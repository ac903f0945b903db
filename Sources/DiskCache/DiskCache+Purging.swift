import Primitives

extension DiskCache {
    /// Removes the entry of that key. What is being received under it will not be kept.
    ///
    /// - Parameters:
    ///   - condition: sees the entry, or that there is none, at the instant of its removal; when it returns `false`
    ///     nothing is removed. It must not wait.
    ///   - completion: gets whether there was an entry, once it is gone for good; or
    ///     ``DiskCacheError/conditionFailed``.
    public func remove(
        _ key: String, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Bool, DiskCacheError>) -> Void
    ) {
        writer.submit(
            makesRoom: true,
            { context in
                let row = try context.index.row(forKey: key)
                if let condition, !condition(row?.entry) { throw DiskCacheError.conditionFailed }
                // By a key alone there is nothing to doubt.
                _ = context.parts.flights.purge(PurgeScope.scopes(of: [EntryFilter(key: key)]))
                guard let row else { return false }
                try context.remove(row)
                return true
            }, completion: completion)
    }

    /// ``remove(_:condition:completion:)``, and waits.
    @discardableResult
    public func remove(_ key: String) async throws(DiskCacheError) -> Bool {
        try await withCheckedContinuation { continuation in
            remove(key) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Removes every entry that matches and was published before now. What matches and is being received will not be
    /// kept.
    ///
    /// It goes in steps, between which others write. `completion` gets the number of entries, once all of them are gone
    /// for good; after an error some may be gone.
    ///
    /// - Parameter condition: must hold when the removal begins, or nothing is removed and `completion` gets
    ///   ``DiskCacheError/conditionFailed``. Where nothing matches it does not count. `nil`: none.
    public func remove(
        matching filter: EntryFilter, condition: RemovalCondition? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge([filter], sparing: nil, condition: condition, limit: Self.stepLimit, completion)
    }

    /// Removes every entry that matches any of `filters`, as ``remove(matching:condition:completion:)`` does for one:
    /// for all of them at the same instant. Without filters nothing is removed.
    ///
    /// - Parameters:
    ///   - filters: of which some match what is to be removed.
    ///   - reservation: what is being received there will be kept all the same: an answer is not to be kept from
    ///     being stored by what it itself makes invalid.
    ///   - completion: see ``remove(matching:condition:completion:)``.
    public func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil,
        completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        purge(
            filters, sparing: reservation?.number(in: parts), condition: nil, limit: Self.stepLimit, completion)
    }

    /// ``remove(matching:condition:completion:)``, and waits.
    @discardableResult
    public func remove(matching filter: EntryFilter) async throws(DiskCacheError) -> Int {
        try await remove(matching: [filter])
    }

    /// ``remove(matching:sparing:completion:)``, and waits.
    @discardableResult
    public func remove(
        matching filters: [EntryFilter], sparing reservation: Reservation? = nil
    ) async throws(DiskCacheError) -> Int {
        try await withCheckedContinuation { continuation in
            remove(matching: filters, sparing: reservation) { continuation.resume(returning: $0) }
        }.get()
    }

    /// How many entries match.
    public func count(matching filter: EntryFilter) throws(DiskCacheError) -> Int {
        try parts.reader.count(EntryQuery(filter, now: parts.clock.now()))
    }

    /// Removes what is of no more use: expired, with nothing to revalidate it by, no stale allowance, and not pinned.
    /// ``maintain(completion:)`` does it too. `completion` gets the number of entries.
    public func sweepExpired(completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void) {
        sweep(removed: 0, limit: Self.stepLimit, completion)
    }

    // MARK: - Steps

    /// The most entries that go in one transaction, which others wait behind. On a full disk it is fewer: as many as
    /// there is room to log. A commit of more keeps its processor for longer, and hits from theirs.
    private static let stepLimit = 100

    /// For each entry that a transaction may remove it may write down so many slides: 4,000.
    private static let slidesPerRemoval = 40

    /// A purge under way. It removes what had been published when it began; the marks of the flights see to the rest.
    private struct Purge: Sendable {
        var filters: [EntryFilter]
        var now: Timestamp
        var lastVersion: Int64

        /// How it is told of.
        var telling: BulkRemoval { BulkRemoval(.removed, by: filters.count == 1 ? filters[0] : nil) }

        /// Removes at most `limit` entries, after so many others; how many.
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

    /// Begins a purge, and goes on until it is done.
    private func purge(
        _ filters: [EntryFilter], sparing spared: Int?, condition: RemovalCondition?, limit: Int,
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        let begin: @Sendable (WriteContext, Timestamp) throws -> (Purge, Int) = { context, now in
            try context.check(condition, filters, now: now)
            // By the same instant as the rows: what is removed here must not be published again.
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

    /// Runs `work` in a transaction by whose time all slides are written down that were noted before the first one of
    /// this, and shows it the time of that: what had expired by then has expired. There may be any number of slides,
    /// and others do not wait behind all of them.
    ///
    /// - Parameter limit: how many entries `work` is to remove.
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
                // Less on a full disk, too.
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

    /// What is expired and of no more use.
    static func sweepQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(.all, now: now)
        query.restrict("sweepable = 1 AND expiry <= ?", [now.milliseconds])
        return query
    }

    /// A step that was to remove `limit` entries has ended: then there is more to do, with a limit for it, or nothing.
    ///
    /// - Parameters:
    ///   - removed: how many went before this step.
    ///   - telling: how all of it is told of; `nil`: nothing has gone.
    private func stepEnded(
        _ result: Result<Int, DiskCacheError>, removed: Int, limit: Int, _ telling: BulkRemoval?,
        _ completion: (Result<Int, DiskCacheError>) -> Void, more: (_ removed: Int, _ limit: Int) -> Void
    ) {
        switch result {
        case .success(let count) where count == limit: more(removed + count, min(limit * 2, Self.stepLimit))
        case .success(let count):
            tellRest(of: removed + count, telling)
            completion(.success(removed + count))
        // Each entry that goes makes room for others to go.
        case .failure(.noSpace) where limit > 1: more(removed, limit / 2)
        case .failure(let error):
            tellRest(of: removed, telling)
            completion(.failure(error))
        }
    }

    /// Tells who watches of those that were not told of one by one.
    private func tellRest(of count: Int, _ telling: BulkRemoval?) {
        if let rest = telling?.rest(of: count) { parts.tell([rest]) }
    }
}

/// What must hold of the entry of a key when a removal begins.
public struct RemovalCondition: Sendable {
    /// The key.
    public var key: String
    /// Sees the entry, or that there is none. It must not wait.
    public var holds: @Sendable (Entry?) -> Bool

    /// A condition on the entry of a key.
    public init(key: String, holds: @escaping @Sendable (Entry?) -> Bool) {
        self.key = key
        self.holds = holds
    }
}

extension WriteContext {
    /// Throws ``DiskCacheError/conditionFailed`` when the condition does not hold and there is something to remove.
    fileprivate func check(_ condition: RemovalCondition?, _ filters: [EntryFilter], now: Timestamp) throws {
        guard let condition, !condition.holds(try index.row(forKey: condition.key)?.entry) else { return }
        for filter in filters where try !index.rows(EntryQuery(filter, now: now), limit: 1).isEmpty {
            throw DiskCacheError.conditionFailed
        }
    }

    /// Removes what `query` finds, at most `limit`, after so many others; how many.
    fileprivate func remove(
        _ query: EntryQuery, because cause: RemovalCause, limit: Int, _ telling: BulkRemoval, after count: Int
    ) throws -> Int {
        // From here to the end of the transaction, with its commit and the checkpoint that may follow.
        Processor.share()
        let rows = try index.rows(query, limit: limit)
        for (number, row) in rows.enumerated() {
            Processor.offer()
            try remove(row, because: cause, as: telling.verb(after: count + number))
        }
        return rows.count
    }

    /// Marks what is being received and a purge means.
    ///
    /// What is fetched to bring a held entry up to date must not bring it back when that entry is purged, by a tag that
    /// only the entry has, or because it is stale: only for these the index is asked, and once for all who fetch the
    /// same.
    fileprivate func purgeFlights(_ filters: [EntryFilter], sparing spared: Int?, now: Timestamp) throws {
        var known: [ExactText: Bool] = [:]
        for doubt in parts.flights.purge(PurgeScope.scopes(of: filters), sparing: spared) {
            let (first, last) = doubt.heldKeys
            // Who fetches the same from the same URL has the same scopes, too.
            let question = ExactText("\(first) \(doubt.url ?? "")")
            let isMeant =
                try known[question]
                ?? index.holds(from: first, to: last) { held in doubt.scopes.contains { $0.means(held, now: now) } }
            known[question] = isMeant
            if isMeant { doubt.purged.set() }
        }
    }
}
