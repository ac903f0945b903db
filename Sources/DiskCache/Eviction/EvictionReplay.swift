import GRDB
import Primitives

/// Replays a trace of requests through the code that decides what goes, in either tier: what is asked for and not held
/// is put in. For benchmarks and tests.
package enum EvictionReplay {
    /// A trace of requests, in their order.
    package struct Trace: Sendable {
        /// One request.
        package struct Request: Sendable {
            /// What is asked for.
            package var key: String
            /// How many bytes it has, if it has to be put in for this request.
            package var size: Int

            /// A request.
            package init(key: String, size: Int) {
                self.key = key
                self.size = size
            }
        }

        /// The requests.
        package var requests: [Request]

        /// A trace of these requests.
        package init(_ requests: [Request]) {
            self.requests = requests
        }

        /// What all that is asked for takes together, in bytes: each key once, with the last of its sizes.
        package var footprint: Int {
            var sizes: [String: Int] = [:]
            for request in requests { sizes[request.key] = request.size }
            return sizes.values.reduce(0, +)
        }
    }

    /// What a replay missed.
    package struct Outcome: Sendable, Equatable {
        /// Requests, and those of them that missed.
        package var (requests, misses) = (0, 0)
        /// The bytes of the requests, and of those that missed.
        package var (bytes, missedBytes) = (0, 0)
        /// How many entries are held in the end, and the memory that the choices take beside them.
        package var (entries, policyBytes) = (0, 0)

        /// Nothing asked for.
        package init() {}

        /// Misses for each request.
        package var objectMissRatio: Double { Double(misses) / Double(requests) }
        /// Missed bytes for each byte that was asked for.
        package var byteMissRatio: Double { Double(missedBytes) / Double(bytes) }

        fileprivate mutating func count(_ request: Trace.Request, isHit: Bool) {
            requests += 1
            bytes += request.size
            if isHit { return }
            misses += 1
            missedBytes += request.size
        }
    }

    /// Replays through a ``MemoryTier`` of that many bytes.
    ///
    /// - Parameter shardCount: see ``MemoryTier/init(limit:shardCount:)``.
    package static func memoryTier(_ trace: Trace, capacity: Int, shardCount: Int? = nil) -> Outcome {
        let tier = MemoryTier<Int>(limit: capacity, shardCount: shardCount)
        var outcome = Outcome()
        for request in trace.requests {
            let isHit = tier.value(for: request.key) != nil
            outcome.count(request, isHit: isHit)
            if isHit { continue }
            tier.insert(0, for: request.key, cost: request.size, ticket: tier.ticket(for: request.key))
        }
        outcome.entries = tier.statistics.count
        return outcome
    }

    /// Replays through the disk tier's eviction, over rows of an index in `directory`, which must be empty: everything
    /// but the bodies. An entry costs its size alone, and room is made when it is needed, as for one who waits for it.
    package static func diskTier(_ trace: Trace, capacity: Int, directory: String) throws -> Outcome {
        var configuration = DiskCache.Configuration()
        configuration.diskLimit = Int64(capacity)
        configuration.diskReserve = .bytes(0)
        let parts = try CacheParts(
            in: CacheDirectory(path: directory), configuration: configuration, clock: SystemClock(),
            log: { _ in }, crashHook: { _ in })
        defer { parts.index.close(checkpoint: false) }
        let eviction = Eviction(configuration)
        var totals = try parts.index.writing.writeWithoutTransaction { try Totals($0) }
        var outcome = Outcome()
        // As many as the writer would put into one transaction, or so.
        for start in stride(from: 0, to: trace.requests.count, by: 256) {
            let group = trace.requests[start..<min(start + 256, trace.requests.count)]
            totals = try parts.index.writing.writeWithoutTransaction { db in
                let context = WriteContext(parts, db: db, totals: totals, eviction: eviction)
                try db.inTransaction(.immediate) {
                    for request in group { outcome.count(request, isHit: try ask(for: request, context)) }
                    try context.totals.save(db)
                    return .commit
                }
                context.journal.committed()
                return context.totals
            }
        }
        outcome.policyBytes = eviction.memoryBytes
        outcome.entries = totals.queues.entries
        return outcome
    }

    /// Finds an entry and notes a hit, or puts it in; whether it was found.
    private static func ask(for request: Trace.Request, _ context: WriteContext) throws -> Bool {
        let parts = context.parts
        if let row = try context.index.row(forKey: request.key) {
            let hit = PendingAccess(version: row.entry.version, hits: 1, lastAccess: context.now)
            _ = parts.access.note(hit, for: request.key)
            return true
        }
        let cost = Int64(request.size)
        guard cost <= parts.budget.limit else { return false }
        while context.totals.diskBytes + cost > parts.budget.limit {
            guard try context.eviction.makeRoom(context, for: cost) else { return false }
        }
        let version = context.totals.nextSequence()
        let place = context.eviction.place(
            forKey: request.key, cost: cost, replacing: nil, among: context.totals.queues)
        let row = EntryRow(
            id: version, entry: entry(request, version: version, context), cost: cost, path: nil, identity: nil,
            place: place, turn: version)
        try context.index.put(row, body: nil, replacing: nil)
        context.totals.add(row)
        return false
    }

    private static func entry(_ request: Trace.Request, version: Int64, _ context: WriteContext) -> Entry {
        let record = Entry.Record(
            key: request.key, namespace: "default", kind: .data, status: 200, contentLength: Int64(request.size),
            digest: [], isJSON: false, createdDate: context.now, tags: [], pinned: false, version: version,
            staleAllowance: .zero)
        let ttl = Duration.seconds(1_000_000)
        return Entry(record, ttl: ttl, expiryDate: context.now + ttl, hits: 0, lastAccessDate: context.now)
    }
}
