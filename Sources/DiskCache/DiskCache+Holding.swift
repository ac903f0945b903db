import GRDB
import Primitives

/// Entries that a holder, such as a subscription, holds: no eviction, no expiry and no purge by a filter removes them.
/// A removal by key or URL does, and the next generation may bring the entry back.
extension DiskCache {
    /// Begins the next generation of the entries that `holder` holds. A holder needs no registration.
    package func beginGeneration(of holder: String, completion: @escaping Completion<GenerationStage>) {
        writer.submit({ try $0.beginCapture(of: holder) }) { [parts, writer] result in
            completion(
                result.map { number in
                    GenerationStage(
                        holder, CaptureBodies(number, parts: parts, writer: writer), parts.pendingStores.members,
                        writer: writer)
                })
        }
    }

    /// Goes on with a holder, such as after a restart. If the index has lost the holder, the entries of `members` that
    /// the cache still has become its first generation; without such an entry, the holder has no generation.
    /// `completion` gets the state after all earlier publishes, also those that have not completed.
    package func resumeGeneration(
        of holder: String, members: [(key: CacheKey, url: String)], completion: @escaping Completion<ResumedGeneration>
    ) {
        let members = members.map { HoldOperation.Member(key: $0.key, url: $0.url) }
        writer.submit(HoldOperation(holder: holder, members: members).run, completion: completion)
    }

    /// Ends a holder. Its entries become ordinary entries; `removing`: entries are removed unless another holder holds
    /// them or a caller has pinned them. Running stages of the holder end: their publishes fail with
    /// ``DiskCacheError/reservationEnded``. `completion` gets the number of the entries that the holder has held; begin
    /// no generation of the same name before that. A kill leaves a part of them held, and the holder in ``holders()``.
    package func release(_ holder: String, removing: Bool, completion: @escaping Completion<Int>) {
        releaseSome(of: holder, removing: removing, after: 0, completion)
    }

    private static let releaseStep = 100

    private func releaseSome(
        of holder: String, removing: Bool, after count: Int, _ completion: @escaping Completion<Int>
    ) {
        writer.submit(
            makesRoom: true,
            { context -> (count: Int, isDone: Bool) in
                if count == 0 { context.endStages(of: holder) }
                guard let (id, _) = try context.index.holder(named: holder) else { return (0, true) }
                let entries = try context.index.heldIDs(of: id, limit: Self.releaseStep)
                for entry in entries {
                    try context.release(entry, from: id)
                    guard removing, let row = try context.index.row(forID: entry), !row.entry.isExempt else { continue }
                    try context.remove(row)
                }
                let isDone = entries.count < Self.releaseStep
                if isDone { try context.index.removeHolder(id) }
                return (entries.count, isDone)
            },
            completion: { [self] result in
                switch result {
                case .success((let some, false)):
                    releaseSome(of: holder, removing: removing, after: count + some, completion)
                case .success((let some, true)): completion(.success(count + some))
                case .failure(let error): completion(.failure(error))
                }
            })
    }

    /// The generation that readers see; `nil` before the first one. Waits for the disk.
    package func generation(of holder: String) throws(DiskCacheError) -> HeldGeneration? {
        try parts.index.list { db in
            try db.cachedStatement(
                sql: """
                    SELECT generation, (SELECT COUNT(*) FROM holds WHERE holder = holders.id) FROM holders WHERE name = ?
                    """
            ).first([holder]) { HeldGeneration(number: $0[0], count: Int($0[1] as Int64)) }
        }
    }

    /// The names of all holders. Waits for the disk.
    package func holders() throws(DiskCacheError) -> [String] {
        try parts.index.list { db in
            try db.cachedStatement(sql: "SELECT name FROM holders ORDER BY name").all([]) { $0[0] }
        }
    }

    /// The names of the holders that hold the entries of keys, sorted. A key without a holder has no element. One query
    /// finds all of them. Waits for the disk.
    package func holders(ofKeys keys: [String]) throws(DiskCacheError) -> [String: [String]] {
        guard !keys.isEmpty else { return [:] }
        let list = JSON.array(keys.map(JSON.string)).text
        return try parts.index.list { db in
            // CROSS JOIN keeps the order of the tables, so that the query begins with the keys.
            let pairs = try db.cachedStatement(
                sql: """
                    SELECT key, name FROM (SELECT DISTINCT value FROM json_each(?)) \
                    CROSS JOIN entries ON entries.key = value CROSS JOIN holds ON holds.entry = entries.id \
                    CROSS JOIN holders ON holders.id = holder ORDER BY name
                    """
            ).all([list]) { ($0[0] as String, $0[1] as String) }
            return Dictionary(grouping: pairs, by: \.0).mapValues { $0.map(\.1) }
        }
    }
}
