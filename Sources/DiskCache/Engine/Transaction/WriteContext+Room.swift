// Invariants:
// - Pinned entries are in no queue, and the query for expired entries omits them. Expired entries are evicted first.
// - A choice depends only on rows and totals of the transaction, and on the policy's hashes of evicted entries. An
//   undone transaction leaves at most a hash too many or too few.
// - The room on the file system counts like the limit. An unpinned entry is stored only if it fits beside the pinned
//   entries and the head-room. Otherwise it would be evicted first, although its caller was told that it is stored.

import Primitives

extension WriteContext {
    /// The most entries that a transaction evicts, because other operations wait for it.
    static let evictionLimit = 64
    private static let tellingEvicted = BulkRemoval(verb: .evicted, singleLimit: 16)
    /// A step that has spared this many entries stops as soon as it has removed an entry.
    private static let sparingLimit = 256

    /// Evicts before a store needs room. Spares the newest, just acknowledged entry even if it is larger than the small
    /// queue. Evicts it only when the reserve lacks room, or the limit is exceeded and no other entry can be evicted.
    func evictAhead(toFree bytes: Int64, _ fullness: DiskFullness) throws -> Eviction.Freed {
        let cause = fullness.excess + fullness.headRoom >= bytes ? RemovalCause.limit : .reserve
        let freed = try evict(toFree: bytes, because: cause, sparesNewest: !fullness.lacksRoom)
        if freed.rows > 0 || !fullness.isTooMuch { return freed }
        return try evict(toFree: bytes, because: cause, sparesNewest: false)
    }

    func evictExcess() throws -> Int {
        let excess = totals.diskBytes - parts.budget.limit
        return try evict(toFree: excess, because: .limit, sparesNewest: false).rows
    }

    /// Evicts up to ``evictionLimit`` entries; with `lastTurn`, in a single pass (``DiskQueues/lastTurn``).
    private func evict(
        toFree bytes: Int64, because cause: RemovalCause, sparesNewest: Bool, upTo lastTurn: Int64? = nil
    ) throws -> Eviction.Freed {
        var freed = Eviction.Freed()
        guard bytes > 0 else { return freed }
        guard try freeDropped(toFree: bytes, &freed) else { return freed }
        try removeExpired(toFree: bytes, because: cause, &freed)
        var queues = DiskQueues(context: self, lastTurn: lastTurn)
        while freed.bytes < bytes, freed.entries < Self.evictionLimit,
            freed.rows == 0 || queues.moves < Self.sparingLimit,
            let victim = try eviction.policy.victim(of: &queues, sparesNewest: sparesNewest),
            let row = try index.row(forID: victim.id)
        {
            try remove(row, because: cause, as: Self.tellingEvicted.verb(after: freed.entries))
            freed.add(row)
            if row.entry.kind == .page, try !freeDropped(toFree: bytes, &freed) { break }
        }
        if let rest = Self.tellingEvicted.rest(of: freed.entries), parts.isWatched { journal.tell(rest) }
        return freed
    }

    /// Removes resources of dropped captures, which no reader can find any more, before any entry goes for the room.
    /// `false`: the step is full, and such resources are left.
    private func freeDropped(toFree bytes: Int64, _ freed: inout Eviction.Freed) throws -> Bool {
        guard parts.runningCaptures.hasDropped || freed.entries > 0, freed.bytes < bytes else { return true }
        return try !removeDropped(&freed)
    }

    /// Removes expired entries. Spares an entry that has a later expiry date, which the index does not have yet.
    private func removeExpired(toFree bytes: Int64, because cause: RemovalCause, _ freed: inout Eviction.Freed) throws {
        var spared = 0
        while spared < Self.sparingLimit {
            let limit = Self.evictionLimit - freed.entries
            let rows = try index.rows(Eviction.expiredQuery(now: now), limit: limit)
            for row in rows {
                if freed.bytes >= bytes { return }
                if try flushSlide(of: row.entry) {
                    spared += 1
                } else {
                    try remove(row, because: cause, as: Self.tellingEvicted.verb(after: freed.entries))
                    freed.add(row)
                }
            }
            // Goes on only if entries were spared. Otherwise no expired entries are left, or the step is full.
            if rows.count < limit || freed.entries >= Self.evictionLimit { return }
        }
    }

    /// `true`: there is room, or an entry was evicted and the caller tries again. `false`: no room can be made.
    package func makeRoom(for bytes: Int64, asPinned: Bool) throws -> Bool {
        guard bytes <= parts.budget.room + totals.diskBytes - totals.pinnedBytes else { return false }
        return try makeRoom(for: bytes, beside: asPinned ? 0 : headRoom, margin: 0)
    }

    /// Makes room like ``makeRoom(for:asPinned:)`` for a body of unknown length, which may never fit. So eviction
    /// examines each queue once, lowers no hit count, and spares entries with hits and entries stored after `lastTurn`:
    /// the sequence number when the body first lacked room. If the share has no part left, only expired entries go.
    func makeRoom(forUnknownLength bytes: Int64, beside own: ByteBudget.Promise, upTo lastTurn: Int64) throws -> Bool {
        let isShared = parts.budget.hasShare(for: bytes, beside: own)
        return try makeRoom(
            for: bytes, beside: headRoom, margin: isShared ? 0 : headRoom, upTo: isShared ? lastTurn : 0)
    }

    private var headRoom: Int64 { DiskFullness.headRoom(ofLimit: parts.budget.limit, pinned: totals.pinnedBytes) }

    /// Makes room for `bytes` and `margin` together. Returns `false` at once if `bytes` and `headRoom` together do not
    /// fit beside the pinned entries and the bytes reserved for running stores.
    private func makeRoom(
        for bytes: Int64, beside headRoom: Int64, margin: Int64, upTo lastTurn: Int64? = nil
    ) throws -> Bool {
        let budget = parts.budget
        guard budget.reserved + totals.pinnedBytes + bytes + headRoom <= budget.limit else {
            // Resources of dropped pinned pages still count as pinned. Without them there may be room.
            guard parts.runningCaptures.hasDropped else { return false }
            var freed = Eviction.Freed()
            _ = try removeDropped(&freed)
            return freed.rows > 0
        }
        let overLimit = totals.diskBytes + budget.reserved + bytes + margin - budget.limit
        let overRoom = bytes + min(margin, DiskFullness.leastRoom) - budget.room
        let excess = max(overLimit, overRoom)
        let cause = overLimit >= overRoom ? RemovalCause.limit : .reserve
        return try excess <= 0
            || evict(toFree: excess, because: cause, sparesNewest: false, upTo: lastTurn).rows > 0
    }

    /// Whether the pinned and held entries fit into the limit.
    var hasRoomForExempt: Bool {
        parts.budget.reserved + totals.pinnedBytes <= parts.budget.limit
    }

    /// Whether an unpinned entry of `cost` bytes in place of `old` fits beside the pinned entries and the head-room.
    func canKeep(_ cost: Int64, replacing old: EntryRow?) -> Bool {
        let limit = parts.budget.limit
        let pinned = totals.pinnedBytes - (old.map { $0.entry.isExempt ? $0.cost : 0 } ?? 0)
        return pinned + cost + DiskFullness.headRoom(ofLimit: limit, pinned: pinned) <= limit
    }
}

/// The policy's queues on disk: columns of the entries' rows, in the order of an index. They survive a restart. A hit
/// counts when the log of hits is flushed, or earlier when the policy examines the entry.
struct DiskQueues: EvictionQueues {
    typealias ID = Int64
    typealias Failure = any Error
    let context: WriteContext
    /// If set, a single pass examines entries up to this ``EntryRow/turn``, each at most once, and takes no hits away.
    let lastTurn: Int64?
    private(set) var moves = 0
    var totals: QueueTotals { context.totals.queues }

    func oldest(in queue: EvictionQueue) throws -> QueuedEntry<ID>? {
        guard let (entry, key, turn) = try context.index.oldest(in: queue), turn <= lastTurn ?? .max else { return nil }
        // The policy decides by the hits, so hits that the index does not count yet are written first.
        guard context.parts.hits.isPending(key) else { return entry }
        try context.flushHits(only: key)
        return try context.index.oldest(in: queue)?.entry
    }

    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws {
        moves += 1
        var place = place
        if lastTurn != nil { place.frequency = entry.place.frequency }
        try context.index.move(entry.id, to: place, turn: context.totals.nextSequence())
        context.totals.moved(cost: entry.cost, from: entry.place.queue, to: place.queue)
    }
}
