import GRDB
import Primitives

/// Decides when entries have to go from disk ahead of need, and keeps the policy's state. For the writer's thread.
package final class Eviction {
    /// The fullness at which eviction found no entry to remove; see ``wanted(_:)``.
    private var futile: (used: (all: Int64, pinned: Int64), isTooMuch: Bool)?
    var policy: S3FIFOPolicy
    /// The bytes still to be removed because the file system had too little room at the last look.
    private var roomToMake: Int64 = 0
    /// A pause of a second, because freed room may not be visible at once: a file keeps its blocks while a reader has
    /// it open, and index pages are given back later. Eviction would remove all entries meanwhile.
    private var nextLook = ContinuousClock.now

    init(memoryLimit: Int) {
        policy = S3FIFOPolicy(ghostLimit: Self.ghostLimit(ofMemory: memoryLimit))
    }

    func fit(memoryLimit: Int) { policy.ghostLimit = Self.ghostLimit(ofMemory: memoryLimit) }

    /// The hashes, of 16 bytes each, count in the memory limit and get at most half of it, to leave room for entries.
    private static func ghostLimit(ofMemory limit: Int) -> Int { limit / 2 / 16 }

    package var memoryBytes: Int { policy.memoryBytes }

    /// The bytes to remove ahead of need; 0 or less: none. After a step that found no entry to remove, the number is 0
    /// until bytes are freed, more than a quarter of the head-room is added, or the pinned bytes or `isTooMuch` change.
    func wanted(_ fullness: DiskFullness) -> Int64 {
        let overLimit = fullness.excess + fullness.headRoom
        let tooLittle = min(fullness.headRoom, DiskFullness.leastRoom) - fullness.room
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

    /// `fullness` is from before the step, `used` from after it.
    func stepEnded(_ freed: Freed, _ fullness: DiskFullness, used: (all: Int64, pinned: Int64)) {
        futile = freed.entries == 0 ? (used, fullness.isTooMuch) : nil
        guard roomToMake > 0 else { return }
        roomToMake -= freed.bytes
        if roomToMake <= 0 || freed.entries == 0 { (roomToMake, nextLook) = (0, .now + .seconds(1)) }
    }

    struct Freed {
        var entries = 0
        var bytes: Int64 = 0

        mutating func add(_ row: EntryRow) {
            entries += 1
            bytes += row.cost
        }
    }

    /// The expired, unpinned entries, the earliest expiry first. They go before all others.
    static func expiredQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(EntryFilter(state: .stale), now: now)
        query.restrict("pinned = 0", [])
        query.sort(by: "expiry")
        return query
    }
}

/// Gives back free pages of the index, which would take space beside the limit for ever. For the writer's thread.
final class IndexShrinking {
    /// The most pages that may stay free for reuse: as many bytes as eviction keeps free below the limit.
    private let slack: Int64
    private(set) var freePages: Int64

    /// The most pages, of 4,096 bytes, that go in one transaction, because other operations wait behind it.
    private static let stepLimit = 2048

    init(_ db: Database, headRoom: Int64) throws {
        // An index that an older build created without incremental auto-vacuum keeps its pages.
        let isPossible = try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2
        slack = isPossible ? headRoom / 4096 : .max
        freePages = try Self.freePages(db)
    }

    /// All free pages should be given back when the file system has too little room.
    func isWanted(room: Int64) -> Bool {
        slack < .max && freePages > (room - freePages * 4096 < 0 ? 0 : slack)
    }

    static func freePages(_ db: Database) throws -> Int64 {
        try db.cachedStatement(sql: "PRAGMA freelist_count").first([]) { $0[0] } ?? 0
    }

    func committed(freePages: Int64) { self.freePages = freePages }

    static func step(_ db: Database) throws {
        try db.execute(sql: "PRAGMA incremental_vacuum(\(stepLimit))")
    }

    /// Stops shrinking until the next commit, because another attempt before that would fail, too.
    func stepFailed() { freePages = 0 }
}
