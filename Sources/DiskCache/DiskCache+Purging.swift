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
                context.parts.flights.purge(EntryFilter(key: key))
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
    public func remove(
        matching filter: EntryFilter, completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        writer.submit(
            makesRoom: true,
            { context in
                // So that nothing counts as stale that was slid a moment ago.
                if filter.state != nil { try context.flushAccess() }
                context.parts.flights.purge(filter)
                try Self.purgeRefreshes(of: filter, context)
                return Purge(filter: filter, now: context.now, lastVersion: context.totals.sequence)
            },
            completion: { [self] result in
                switch result {
                case .success(let purge): goOn(purge, removed: 0, limit: Self.stepLimit, completion)
                case .failure(let error): completion(.failure(error))
                }
            })
    }

    /// ``remove(matching:completion:)``, and waits.
    @discardableResult
    public func remove(matching filter: EntryFilter) async throws(DiskCacheError) -> Int {
        try await withCheckedContinuation { continuation in
            remove(matching: filter) { continuation.resume(returning: $0) }
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

    /// The most entries that go in one transaction. On a full disk it is fewer: as many as there is room to log.
    private static let stepLimit = 1000

    /// A purge under way. It removes what had been published when it began; the marks in the flight table see to the
    /// rest.
    private struct Purge: Sendable {
        var filter: EntryFilter
        var now: Timestamp
        var lastVersion: Int64
    }

    private func goOn(
        _ purge: Purge, removed: Int, limit: Int,
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        step(
            { _ in
                var query = EntryQuery(purge.filter, now: purge.now)
                query.restrict("version <= ?", [purge.lastVersion])
                return query
            }, removed: removed, limit: limit, completion
        ) { [self] in goOn(purge, removed: $0, limit: $1, completion) }
    }

    private func sweep(
        removed: Int, limit: Int, _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void
    ) {
        step(
            { context in
                try context.flushAccess()
                return Self.sweepQuery(now: context.now)
            }, removed: removed, limit: limit, completion
        ) { [self] in sweep(removed: $0, limit: $1, completion) }
    }

    /// What is expired and of no more use.
    static func sweepQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(.all, now: now)
        query.restrict("sweepable = 1 AND expiry <= ?", [now.milliseconds])
        return query
    }

    /// What is fetched to bring a held entry up to date must not bring it back when that entry is purged, by a tag that
    /// only the entry has, or because it is stale.
    private static func purgeRefreshes(of filter: EntryFilter, _ context: WriteContext) throws {
        for (number, key, isVariantOpen) in context.parts.flights.fetches
        where filter.key == nil || filter.key == key.text {
            var held = filter
            if isVariantOpen {
                (held.md5, held.kind) = (key.md5Hex, filter.kind ?? .response)
            } else {
                held.key = key.text
            }
            if try !context.index.rows(EntryQuery(held, now: context.now), limit: 1).isEmpty {
                context.parts.flights.purge(number)
            }
        }
    }

    /// Removes at most `limit` of what the query finds; then there is more to do, with a limit for it, or nothing.
    private func step(
        _ query: @escaping @Sendable (WriteContext) throws -> EntryQuery, removed: Int, limit: Int,
        _ completion: @escaping @Sendable (Result<Int, DiskCacheError>) -> Void,
        more: @escaping @Sendable (_ removed: Int, _ limit: Int) -> Void
    ) {
        writer.submit(
            makesRoom: true,
            { context in
                let rows = try context.index.rows(try query(context), limit: limit)
                for row in rows { try context.remove(row) }
                return rows.count
            },
            completion: { result in
                switch result {
                case .success(let count) where count == limit: more(removed + count, min(limit * 2, Self.stepLimit))
                case .success(let count): completion(.success(removed + count))
                // Each entry that goes makes room for others to go.
                case .failure(.noSpace) where limit > 1: more(removed, limit / 2)
                case .failure(let error): completion(.failure(error))
                }
            })
    }
}
