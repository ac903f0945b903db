import DiskCache
import Primitives

/// The disk tier without bodies: the rows of an index, and the writer's eviction. Measures the eviction choices, with
/// entries of a stated cost.
final class DiskTierRehearsal {
    private let parts: CacheParts
    private let loop: WriterLoop

    /// A request for an entry. The tier stores the entry unless it is held already.
    struct Request {
        var key: String
        var cost: Int
        var pinned: Bool
    }

    /// Creates an empty tier.
    ///
    /// - Parameters:
    ///   - capacity: the most that all entries may cost together.
    ///   - directory: an empty directory for the index.
    init(capacity: Int, directory: String) throws {
        var configuration = CacheConfiguration()
        configuration.diskLimit = Int64(capacity)
        configuration.diskReserve = .bytes(0)
        parts = try CacheParts(
            in: CacheDirectory(path: directory), configuration: configuration, clock: SystemClock(), log: { _ in })
        loop = try WriterLoop(parts)
    }

    /// Closes the index.
    func close() {
        parts.index.close(checkpoint: false)
    }

    /// The memory that the eviction policy takes.
    var policyBytes: Int { loop.eviction.memoryBytes }

    /// The number of entries.
    var count: Int { Int(parts.totals.withLock { $0.entries }) }

    /// Makes the requests in one transaction. Returns for each of them whether its entry was held.
    func ask(for requests: [Request]) throws -> [Bool] {
        try loop.perform { [self] context in
            let found = try requests.map { try ask(for: $0, context) }
            try context.flushHits(limit: .periodic)
            return found
        }
    }

    /// The number of keys without an entry. Counts no hits.
    func missing(of keys: Set<String>) throws -> Int {
        try loop.perform { context in try keys.count { try context.entry(forKey: $0) == nil } }
    }

    /// Finds an entry and notes a hit, or stores the entry. Returns whether it was held.
    private func ask(for request: Request, _ context: WriteContext) throws -> Bool {
        if let entry = try context.entry(forKey: request.key) {
            _ = parts.hits.noteHit(of: entry.key, version: entry.version)
            return true
        }
        let cost = Int64(request.cost)
        guard cost <= parts.budget.limit else { return false }
        while context.totals.diskBytes + cost > parts.budget.limit {
            guard try context.makeRoom(for: cost, asPinned: request.pinned) else { return false }
        }
        var record = Entry.Record(
            key: request.key, kind: .data, version: context.totals.nextSequence(), at: context.now)
        record.contentLength = cost
        record.pinned = request.pinned
        let ttl = Duration.seconds(1_000_000)
        let entry = Entry(record, ttl: ttl, expiryDate: context.now + ttl, hits: 0, lastAccessDate: context.now)
        try context.put(entry, cost: cost)
        return false
    }
}
