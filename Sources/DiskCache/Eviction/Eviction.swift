// Invariants of this file
//
// - What is pinned never goes: it is in no queue, and the query for what has expired leaves it out.
// - What has expired goes before anything that has not.
// - All that a choice depends on is in the rows and in the totals of the same transaction, but for the policy's hashes
//   of what has gone. A transaction that is undone leaves at most a hash too many or too few.
// - What the file system has left counts as the limit does: a store that would leave less than the reserve makes room
//   first.
// - What is not pinned is stored only where it fits under the limit beside what is pinned and the head-room: otherwise
//   it would be the first to go, and who stored it has been told that it is there.
// - A step removes at most `stepLimit` entries, and spares a bounded number: whoever waits for room waits for the room
//   that it needs, and whoever waits behind it for one step.

import Primitives

/// Chooses what goes from disk when room is needed: what has expired, then what the policy says; never what is pinned.
/// Touched by the writer's thread alone.
final class Eviction {
    /// Eviction found nothing when so much was used, and that was too much or not: it is no use trying before either
    /// has changed.
    private var futile: (used: (all: Int64, pinned: Int64), isTooMuch: Bool)?
    private var policy: S3FIFOPolicy
    /// What still is to go because the file system had too little room when that was last looked at.
    private var roomToMake: Int64 = 0
    /// When to look again. The room that was made may not be seen at once: a file that somebody still reads keeps its
    /// blocks, and pages of the index are given back later. Without a pause everything would go meanwhile.
    private var nextLook = ContinuousClock.now

    /// The most entries that go in one transaction, which others wait behind.
    static let stepLimit = 64
    /// How a step is told of.
    private static let telling = BulkRemoval(.evicted, singleLimit: 16)
    /// So much room is kept above the reserve.
    static let leastRoom: Int64 = 256 << 10
    /// After sparing so many others, a step ends with the first that goes.
    private static let moveLimit = 256

    init(_ configuration: DiskCache.Configuration) {
        policy = S3FIFOPolicy(ghostLimit: Self.ghostLimit(ofMemory: configuration.memoryLimit))
    }

    /// Has what it remembers fit into a memory limit that has changed.
    func fit(memoryLimit: Int) {
        let limit = Self.ghostLimit(ofMemory: memoryLimit)
        if policy.ghostLimit != limit { policy.ghostLimit = limit }
    }

    /// What it remembers counts in the memory limit, and must leave room for what that is for.
    private static func ghostLimit(ofMemory limit: Int) -> Int { limit / 2 / 16 }

    /// How much below the limit the writer keeps the disk by itself, so that stores seldom have to wait for room: a
    /// part of what is not pinned. A part of all of it could be more than that.
    static func headRoom(ofLimit limit: Int64, pinned: Int64 = 0) -> Int64 {
        min(max(0, limit - pinned) / 16, 64 << 20)
    }

    /// The memory that the choices take: at most 16 bytes for each entry on disk.
    var memoryBytes: Int { policy.memoryBytes }

    /// Where an entry goes that is published.
    ///
    /// - Parameter old: the row of the entry that it replaces, whose place it takes over; to be stored again is to be
    ///   in use.
    func place(forKey key: String, cost: Int64, replacing old: EntryRow?, among totals: QueueTotals) -> QueuePlace {
        guard var place = old?.place else {
            return policy.place(hash: ExactText(key).hashValue, cost: cost, among: totals)
        }
        place.hit()
        return place
    }

    /// What of the disk is taken, as the writer sees it when nobody waits.
    struct Fullness {
        /// How many bytes more than allowed are taken or promised; negative: so many less.
        var excess: Int64
        /// See ``Eviction/headRoom(ofLimit:pinned:)``.
        var headRoom: Int64
        /// What the file system has left above the reserve.
        var room: Int64
        /// What entries take; and those of them that are pinned.
        var used: (all: Int64, pinned: Int64)

        /// Whether others have taken what was to stay free, and it is not only that the index has grown a little.
        fileprivate var lacksRoom: Bool { room < -Eviction.leastRoom }
        /// Whether more than the head-room is missing: then what came last goes, too.
        fileprivate var isTooMuch: Bool { excess > 0 || lacksRoom }
    }

    /// How many bytes should go before anybody needs them; 0 or less: none.
    func wanted(_ fullness: Fullness) -> Int64 {
        let overLimit = fullness.excess + fullness.headRoom
        let tooLittle = min(fullness.headRoom, Self.leastRoom) - fullness.room
        if tooLittle <= 0 {
            roomToMake = 0
        } else if roomToMake <= 0, ContinuousClock.now >= nextLook {
            roomToMake = tooLittle
        }
        let wanted = max(overLimit, min(tooLittle, roomToMake))
        let used = fullness.used
        guard wanted > 0, let futile, futile.used.pinned == used.pinned, futile.isTooMuch == fullness.isTooMuch
        else { return wanted }
        return used.all > futile.used.all + fullness.headRoom / 4 || used.all < futile.used.all ? wanted : 0
    }

    /// A step of its own accord, before anybody needs the room. What came last stays unless the reserve is
    /// broken, or the limit is and nothing else may go: whoever put it there has just been told so, and it may be more
    /// than the policy's queue for what is new is to hold.
    func stepAhead(_ context: WriteContext, toFree bytes: Int64, _ fullness: Fullness) throws -> Freed {
        let cause = fullness.excess + fullness.headRoom >= bytes ? RemovalCause.limit : .reserve
        let freed = try step(context, toFree: bytes, because: cause, sparesNewest: !fullness.lacksRoom)
        if freed.entries > 0 || !fullness.isTooMuch { return freed }
        return try step(context, toFree: bytes, because: cause, sparesNewest: false)
    }

    /// A step of its own accord has ended, before which the disk was so full; so much of it is used now.
    func stepEnded(_ freed: Freed, _ fullness: Fullness, used: (all: Int64, pinned: Int64)) {
        futile = freed.entries == 0 ? (used, fullness.isTooMuch) : nil
        guard roomToMake > 0 else { return }
        roomToMake -= freed.bytes
        if roomToMake <= 0 || freed.entries == 0 { (roomToMake, nextLook) = (0, .now + .seconds(1)) }
    }

    /// What a step has removed.
    struct Freed {
        var entries = 0
        var bytes: Int64 = 0

        fileprivate mutating func add(_ row: EntryRow) {
            entries += 1
            bytes += row.cost
        }
    }

    /// Removes entries until `bytes` are free, at most ``stepLimit``.
    ///
    /// - Parameters:
    ///   - cause: as what they count.
    ///   - sparesNewest: see ``EvictionPolicy/victim(of:sparesNewest:)``.
    ///   - lastTurn: makes it a part of a single pass; see ``DiskQueues/init(_:upTo:)``. Entries that have expired go
    ///     all the same.
    func step(
        _ context: WriteContext, toFree bytes: Int64, because cause: RemovalCause, sparesNewest: Bool,
        upTo lastTurn: Int64? = nil
    ) throws -> Freed {
        var freed = Freed()
        guard bytes > 0 else { return freed }
        try removeExpired(context, toFree: bytes, because: cause, &freed)
        var queues = DiskQueues(context, upTo: lastTurn)
        while freed.bytes < bytes, freed.entries < Self.stepLimit,
            freed.entries == 0 || queues.moves < Self.moveLimit,
            let victim = try policy.victim(of: &queues, sparesNewest: sparesNewest),
            let row = try context.index.row(forID: victim.id)
        {
            try context.remove(row, because: cause, as: Self.telling.verb(after: freed.entries))
            freed.add(row)
        }
        context.tell(Self.telling.rest(of: freed.entries))
        return freed
    }

    /// Removes what has expired, and spares what was slid a moment ago, whatever the index says yet.
    private func removeExpired(
        _ context: WriteContext, toFree bytes: Int64, because cause: RemovalCause, _ freed: inout Freed
    ) throws {
        var spared = 0
        while spared < Self.moveLimit {
            let limit = Self.stepLimit - freed.entries
            let rows = try context.index.rows(Self.expiredQuery(now: context.now), limit: limit)
            for row in rows {
                if freed.bytes >= bytes { return }
                if try context.flushSlide(of: row.entry) {
                    spared += 1
                } else {
                    try context.remove(row, because: cause, as: Self.telling.verb(after: freed.entries))
                    freed.add(row)
                }
            }
            // When all were removed that is enough for a step.
            if rows.count < limit || freed.entries >= Self.stepLimit { return }
        }
    }

    /// Makes room for `bytes` more on behalf of somebody who waits for it. `false` when it cannot be made.
    ///
    /// - Parameter asPinned: whether it is for an entry that is going to be pinned.
    func makeRoom(_ context: WriteContext, for bytes: Int64, asPinned: Bool) throws -> Bool {
        let budget = context.parts.budget
        let pinned = context.totals.pinnedBytes
        let headRoom = asPinned ? 0 : Self.headRoom(ofLimit: budget.limit, pinned: pinned)
        // Not even an empty cache could keep it, but for what is pinned and promised: nobody else has to go for that.
        guard budget.reserved + pinned + bytes + headRoom <= budget.limit else { return false }
        let room = budget.room
        guard bytes <= room + context.totals.diskBytes - pinned else { return false }
        let (excess, cause) = Self.excess(
            overLimit: context.totals.diskBytes + budget.reserved + bytes - budget.limit, overRoom: bytes - room)
        return try excess <= 0 || step(context, toFree: excess, because: cause, sparesNewest: false).entries > 0
    }

    /// How many bytes must go, and why: those above the disk limit, or those that the file system lacks, whichever are
    /// more.
    private static func excess(overLimit: Int64, overRoom: Int64) -> (Int64, RemovalCause) {
        overLimit >= overRoom ? (overLimit, .limit) : (overRoom, .reserve)
    }

    /// Makes room for `bytes` more of a body of unknown length, which waits for it. `false` when it cannot be made.
    ///
    /// Such a body may never fit. So it passes over the queues once, and takes no hits away: an entry that was read
    /// stays, however many such bodies come, and so does one that came meanwhile. Beyond the share only expired entries
    /// go.
    ///
    /// - Parameters:
    ///   - own: what the body was promised before.
    ///   - lastTurn: the number of the last publish before the body asked for room for the first time.
    func makeRoom(
        _ context: WriteContext, forUnknownLength bytes: Int64, beside own: ByteBudget.Promise, upTo lastTurn: Int64
    ) throws -> Bool {
        let budget = context.parts.budget
        let pinned = context.totals.pinnedBytes
        let headRoom = Self.headRoom(ofLimit: budget.limit, pinned: pinned)
        guard budget.reserved + pinned + bytes + headRoom <= budget.limit else { return false }
        let isShared = budget.hasShare(for: bytes, beside: own)
        let margin = isShared ? 0 : headRoom
        let (excess, cause) = Self.excess(
            overLimit: context.totals.diskBytes + budget.reserved + bytes + margin - budget.limit,
            overRoom: bytes + min(margin, Self.leastRoom) - budget.room)
        if excess <= 0 { return true }
        let last = isShared ? lastTurn : 0
        return try step(context, toFree: excess, because: cause, sparesNewest: false, upTo: last).entries > 0
    }

    /// Whether an entry of `cost` bytes that is not pinned would stay if all others went that may go.
    ///
    /// - Parameter old: which it replaces.
    func canKeep(_ cost: Int64, replacing old: EntryRow?, _ context: WriteContext) -> Bool {
        let limit = context.parts.budget.limit
        let pinned = context.totals.pinnedBytes - (old.map { $0.entry.pinned ? $0.cost : 0 } ?? 0)
        return pinned + cost + Self.headRoom(ofLimit: limit, pinned: pinned) <= limit
    }

    /// What goes first.
    static func expiredQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(EntryFilter(state: .stale), now: now)
        query.restrict("pinned = 0", [])
        query.sort(by: "expiry")
        return query
    }
}
