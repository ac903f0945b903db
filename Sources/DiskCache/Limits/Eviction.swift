import Primitives

/// Chooses what goes when room is needed: what has expired, then what was not used for longest; never what is pinned.
/// Touched by the writer's thread alone.
final class Eviction {
    /// How much below the limit the writer keeps the disk by itself, so that stores seldom have to wait for room.
    let headRoom: Int64
    /// Eviction found nothing when this much was used: it is no use trying before more is.
    private var futileUse: Int64?

    /// The most entries that go in one transaction, which others wait behind.
    static let stepLimit = 64

    init(limit: Int64) {
        headRoom = min(limit / 16, 64 << 20)
    }

    /// Whether to make room, when `excess` bytes (negative: that many less) than allowed are taken.
    func isWanted(excess: Int64, used: Int64) -> Bool {
        guard excess + headRoom > 0 else { return false }
        guard let futileUse else { return true }
        return used > futileUse + headRoom / 4 || used < futileUse
    }

    /// A step of its own accord has ended.
    func stepEnded(evicted: Int, used: Int64) {
        futileUse = evicted == 0 ? used : nil
    }

    /// Removes entries until `bytes` are free, at most ``stepLimit``; how many.
    func step(_ context: WriteContext, toFree bytes: Int64) throws -> Int {
        try Self.step(context, toFree: bytes)
    }

    /// Removes entries until `bytes` are free, at most ``stepLimit``; how many.
    static func step(_ context: WriteContext, toFree bytes: Int64) throws -> Int {
        guard bytes > 0 else { return 0 }
        // What was handed out a moment ago is in use, whatever the index says yet.
        try context.flushAccess(limit: 4096)
        var freed: Int64 = 0
        var evicted = 0
        for order in Order.allCases {
            for row in try context.index.rows(order.query(now: context.now), limit: stepLimit - evicted) {
                if freed >= bytes { return evicted }
                try context.remove(row)
                freed += row.cost
                evicted += 1
            }
        }
        return evicted
    }

    /// Makes room for `bytes` more on behalf of somebody who waits for it. `false` when it cannot be made.
    static func makeRoom(_ context: WriteContext, for bytes: Int64) throws -> Bool {
        let budget = context.parts.budget
        // Not even an empty cache could hold it, but for what is pinned and promised: nobody else has to go for that.
        guard budget.reserved + context.totals.pinnedBytes + bytes <= budget.limit else { return false }
        let excess = context.totals.diskBytes + budget.reserved + bytes - budget.limit
        return try excess <= 0 || step(context, toFree: excess) > 0
    }

    /// What is chosen first, and then.
    enum Order: CaseIterable {
        case expired, leastRecentlyUsed

        func query(now: Timestamp) -> EntryQuery {
            var query = EntryQuery(self == .expired ? EntryFilter(state: .stale) : .all, now: now)
            query.restrict("pinned = 0", [])
            query.sort(by: self == .expired ? "expiry" : "lastAccess, entries.id")
            return query
        }
    }
}
