// Invariants of this file
//
// - Pinned entries never go: they are in no queue, and the query for expired entries leaves them out.
// - Expired entries go before all others.
// - A choice depends only on the rows and totals of the same transaction, and on the policy's hashes of evicted
//   entries. An undone transaction leaves at most a hash too many or too few.
// - The room on the file system counts like the limit: a store that would leave less than the reserve makes room first.
// - An unpinned entry is stored only if it fits under the limit beside the pinned entries and the head-room. Otherwise
//   it would be the first to go, although its caller has been told that it is stored.
// - A step removes at most `stepLimit` entries, and spares a bounded number. A caller that waits for room therefore
//   waits only for the room that it needs, and operations queued behind it wait for a single step.

import Primitives

/// Chooses the entries that go from disk when room is needed: expired entries, then the policy's choices, never pinned
/// entries. The writer's thread alone uses this object.
final class Eviction {
    /// The fullness at which eviction found no entry to remove. Eviction does not try again until the fullness has
    /// changed; see ``wanted(_:)``.
    private var futile: (used: (all: Int64, pinned: Int64), isTooMuch: Bool)?
    private var policy: S3FIFOPolicy
    /// The bytes still to be removed because the file system had too little room at the last look.
    private var roomToMake: Int64 = 0
    /// The time of the next look at the file system's room. Freed room may not be visible at once: a file keeps its
    /// blocks while a reader has it open, and index pages are given back later. Without a pause (a second), eviction
    /// would remove all entries meanwhile.
    private var nextLook = ContinuousClock.now

    /// The most entries that go in one transaction, because other operations wait behind it.
    static let stepLimit = 64
    /// The form in which a step notifies the observer: an event for each of the first 16 entries, and a number for the
    /// rest.
    private static let telling = BulkRemoval(.evicted, singleLimit: 16)
    /// The bytes that eviction keeps free above the reserve.
    static let leastRoom: Int64 = 256 << 10
    /// After sparing this many entries, a step ends with its first removal.
    private static let moveLimit = 256

    init(_ configuration: DiskCache.Configuration) {
        policy = S3FIFOPolicy(ghostLimit: Self.ghostLimit(ofMemory: configuration.memoryLimit))
    }

    /// Adapts the policy's memory to a changed memory limit.
    func fit(memoryLimit: Int) {
        let limit = Self.ghostLimit(ofMemory: memoryLimit)
        if policy.ghostLimit != limit { policy.ghostLimit = limit }
    }

    /// The number of hashes that the policy may remember. The hashes, of 16 bytes each, count in the memory limit and
    /// get at most half of it, to leave room for entries.
    private static func ghostLimit(ofMemory limit: Int) -> Int { limit / 2 / 16 }

    /// The distance that the writer keeps below the limit ahead of need, so that stores seldom wait for room: a
    /// sixteenth of the limit minus the pinned bytes, at most 64 MiB. A part of the whole limit could be more than all
    /// unpinned bytes.
    static func headRoom(ofLimit limit: Int64, pinned: Int64 = 0) -> Int64 {
        min(max(0, limit - pinned) / 16, 64 << 20)
    }

    /// The memory that the policy takes: at most 16 bytes for each entry on disk.
    var memoryBytes: Int { policy.memoryBytes }

    /// The place in the queues for an entry that is published.
    ///
    /// - Parameter old: the row of the replaced entry. The new entry takes over its place and a hit, because an entry
    ///   that is stored again is in use.
    func place(forKey key: String, cost: Int64, replacing old: EntryRow?, among totals: QueueTotals) -> QueuePlace {
        guard var place = old?.place else {
            return policy.place(hash: ExactText(key).hashValue, cost: cost, among: totals)
        }
        place.hit()
        return place
    }

    /// The use of the disk, as the writer sees it when it looks for upkeep.
    struct Fullness {
        /// The bytes above the limit that are taken or promised; negative: the bytes below the limit.
        var excess: Int64
        /// See ``Eviction/headRoom(ofLimit:pinned:)``.
        var headRoom: Int64
        /// The bytes that the file system has free above the reserve.
        var room: Int64
        /// The bytes that entries take; and the bytes of the pinned entries.
        var used: (all: Int64, pinned: Int64)

        /// Whether the reserve is broken by more than the index may have grown by itself. Then other programs have used
        /// it.
        fileprivate var lacksRoom: Bool { room < -Eviction.leastRoom }
        /// Whether more than the head-room is missing. Then the newest entries may go, too.
        fileprivate var isTooMuch: Bool { excess > 0 || lacksRoom }
    }

    /// The number of bytes to remove ahead of need; 0 or less: none.
    ///
    /// After a step that found no entry to remove, the number is 0 until bytes are freed, more than a quarter of the
    /// head-room is added, or the pinned bytes or `isTooMuch` change.
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

    /// Runs a step ahead of need. The newest entry stays, unless the reserve is broken, or the limit is exceeded and no
    /// other entry may go. Its caller has just been told that the entry is stored, and the entry may be larger than the
    /// policy's queue for new entries should be.
    func stepAhead(_ context: WriteContext, toFree bytes: Int64, _ fullness: Fullness) throws -> Freed {
        let cause = fullness.excess + fullness.headRoom >= bytes ? RemovalCause.limit : .reserve
        let freed = try step(context, toFree: bytes, because: cause, sparesNewest: !fullness.lacksRoom)
        if freed.entries > 0 || !fullness.isTooMuch { return freed }
        return try step(context, toFree: bytes, because: cause, sparesNewest: false)
    }

    /// Records the end of a step ahead of need.
    ///
    /// - Parameters:
    ///   - freed: the entries that the step removed.
    ///   - fullness: the fullness before the step.
    ///   - used: the bytes in use after the step.
    func stepEnded(_ freed: Freed, _ fullness: Fullness, used: (all: Int64, pinned: Int64)) {
        futile = freed.entries == 0 ? (used, fullness.isTooMuch) : nil
        guard roomToMake > 0 else { return }
        roomToMake -= freed.bytes
        if roomToMake <= 0 || freed.entries == 0 { (roomToMake, nextLook) = (0, .now + .seconds(1)) }
    }

    /// The number and the bytes of the entries that a step has removed.
    struct Freed {
        var entries = 0
        var bytes: Int64 = 0

        fileprivate mutating func add(_ row: EntryRow) {
            entries += 1
            bytes += row.cost
        }
    }

    /// Removes entries until `bytes` are free, at most ``stepLimit`` entries.
    ///
    /// - Parameters:
    ///   - cause: the cause under which the removals count.
    ///   - sparesNewest: see ``EvictionPolicy/victim(of:sparesNewest:)``.
    ///   - lastTurn: makes the step a part of a single pass; see ``DiskQueues/init(_:upTo:)``. Expired entries go all
    ///     the same.
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

    /// Removes expired entries. Spares entries whose expiry slid a moment ago, although the index does not have that
    /// slide yet.
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
            // Goes on only if entries were spared. Otherwise no expired entries are left, or the step is full.
            if rows.count < limit || freed.entries >= Self.stepLimit { return }
        }
    }

    /// Makes room for `bytes` more on behalf of a waiting caller. Returns `false` when no room can be made. Otherwise
    /// there is room, or a step has removed at least one entry and the caller has to try again.
    ///
    /// - Parameter asPinned: whether the room is for an entry that will be pinned.
    func makeRoom(_ context: WriteContext, for bytes: Int64, asPinned: Bool) throws -> Bool {
        let budget = context.parts.budget
        let pinned = context.totals.pinnedBytes
        let headRoom = asPinned ? 0 : Self.headRoom(ofLimit: budget.limit, pinned: pinned)
        // Fails early if the pinned and promised bytes leave no room even in an otherwise empty cache, so that no entry
        // goes in vain.
        guard budget.reserved + pinned + bytes + headRoom <= budget.limit else { return false }
        let room = budget.room
        guard bytes <= room + context.totals.diskBytes - pinned else { return false }
        let (excess, cause) = Self.excess(
            overLimit: context.totals.diskBytes + budget.reserved + bytes - budget.limit, overRoom: bytes - room)
        return try excess <= 0 || step(context, toFree: excess, because: cause, sparesNewest: false).entries > 0
    }

    /// The number of bytes that must go, and the cause: the bytes above the disk limit, or the bytes that the file
    /// system lacks, whichever number is larger.
    private static func excess(overLimit: Int64, overRoom: Int64) -> (Int64, RemovalCause) {
        overLimit >= overRoom ? (overLimit, .limit) : (overRoom, .reserve)
    }

    /// Makes room for `bytes` more of a body of unknown length that waits for it. Returns `false` when no room can be
    /// made; `true` has the same meaning as in ``makeRoom(_:for:asPinned:)``.
    ///
    /// Such a body may never fit. Therefore eviction passes over the queues once and takes no hits away. Entries that
    /// were read stay, however many such bodies come, and so do entries that were stored meanwhile. Beyond the share,
    /// only expired entries go.
    ///
    /// - Parameters:
    ///   - own: the earlier promises to the body.
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

    /// Whether an unpinned entry of `cost` bytes would stay if all other unpinned entries went.
    ///
    /// - Parameter old: the row of the entry that it replaces.
    func canKeep(_ cost: Int64, replacing old: EntryRow?, _ context: WriteContext) -> Bool {
        let limit = context.parts.budget.limit
        let pinned = context.totals.pinnedBytes - (old.map { $0.entry.pinned ? $0.cost : 0 } ?? 0)
        return pinned + cost + Self.headRoom(ofLimit: limit, pinned: pinned) <= limit
    }

    /// The expired, unpinned entries, the earliest expiry first. They go before all others.
    static func expiredQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(EntryFilter(state: .stale), now: now)
        query.restrict("pinned = 0", [])
        query.sort(by: "expiry")
        return query
    }
}
