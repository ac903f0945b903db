import GRDB
import Primitives

/// The disk tier without bodies: the rows of an index, and the writer's eviction. Measures the eviction choices, with
/// entries of a stated cost.
package final class DiskTierRehearsal {
    private let parts: CacheParts
    private let eviction: Eviction
    private var totals: Totals

    /// A request for an entry. The tier stores the entry unless it is held already.
    package struct Request {
        var key: String
        var cost: Int
        var pinned: Bool

        /// Creates a request.
        package init(key: String, cost: Int, pinned: Bool = false) {
            self.key = key
            self.cost = cost
            self.pinned = pinned
        }
    }

    /// Creates an empty tier.
    ///
    /// - Parameters:
    ///   - capacity: the most that all entries may cost together.
    ///   - directory: an empty directory for the index.
    package init(capacity: Int, directory: String) throws {
        var configuration = DiskCache.Configuration()
        configuration.diskLimit = Int64(capacity)
        configuration.diskReserve = .bytes(0)
        parts = try CacheParts(
            in: CacheDirectory(path: directory), configuration: configuration, clock: SystemClock(),
            log: { _ in }, crashHook: { _ in })
        eviction = Eviction(configuration)
        totals = try parts.index.writing.writeWithoutTransaction { try Totals($0) }
    }

    /// Closes the index.
    package func close() {
        parts.index.close(checkpoint: false)
    }

    /// The memory that the eviction policy takes.
    package var policyBytes: Int { eviction.memoryBytes }

    /// The number of entries.
    package var count: Int { Int(totals.snapshot.entries) }

    /// Makes the requests in one transaction. Returns for each of them whether its entry was held.
    package func ask(for requests: [Request]) throws -> [Bool] {
        var found: [Bool] = []
        totals = try parts.index.writing.writeWithoutTransaction { db in
            let context = WriteContext(parts, db: db, totals: totals, slots: try SlabMap(db), eviction: eviction)
            try db.inTransaction(.immediate) {
                for request in requests { found.append(try ask(for: request, context)) }
                try context.flushAccess(limit: .periodic)
                try context.totals.save(db)
                return .commit
            }
            context.journal.committed()
            return context.totals
        }
        return found
    }

    /// Whether an entry is held. Does not count as a hit.
    package func holds(_ key: String) throws -> Bool {
        try parts.reader.row(forKey: key) != nil
    }

    /// Finds an entry and notes a hit, or stores the entry. Returns whether it was held.
    private func ask(for request: Request, _ context: WriteContext) throws -> Bool {
        if let row = try context.index.row(forKey: request.key) {
            let hit = PendingAccess(version: row.entry.version, hits: 1, lastAccess: context.now)
            _ = parts.access.note(hit, for: request.key)
            return true
        }
        let cost = Int64(request.cost)
        guard cost <= parts.budget.limit else { return false }
        while context.totals.diskBytes + cost > parts.budget.limit {
            guard try eviction.makeRoom(context, for: cost, asPinned: request.pinned) else { return false }
        }
        let version = context.totals.nextSequence()
        let place = eviction.place(forKey: request.key, cost: cost, replacing: nil, among: context.totals.queues)
        let row = EntryRow(
            id: version, entry: entry(request, version: version, context), cost: cost, path: nil, slot: nil,
            identity: nil, place: place, turn: version)
        try context.index.put(row, replacing: nil)
        context.totals.add(row)
        return false
    }

    private func entry(_ request: Request, version: Int64, _ context: WriteContext) -> Entry {
        let record = Entry.Record(
            key: request.key, namespace: "default", kind: .data, status: 200, contentLength: Int64(request.cost),
            digest: [], isJSON: false, createdDate: context.now, tags: [], pinned: request.pinned, version: version,
            staleAllowance: .zero)
        let ttl = Duration.seconds(1_000_000)
        return Entry(record, ttl: ttl, expiryDate: context.now + ttl, hits: 0, lastAccessDate: context.now)
    }
}
