import GRDB
import Primitives

/// Decides when to evict entries before a store needs room, and keeps the policy's state. For the writer's thread.
package final class Eviction {
    /// The use of the disk when eviction last found no entry to remove; see ``wanted(_:)``.
    private var futile: (used: (all: Int64, pinned: Int64), isTooMuch: Bool)?
    var policy: S3FIFOPolicy
    /// The bytes that eviction has yet to remove because the file system has too little room; 0 or less: none.
    private var roomToMake: Int64 = 0
    /// The end of a pause of a second. Freed room may appear late: a file keeps its blocks while a reader has it open,
    /// and index pages are given back later. Without the pause, eviction would go on until then.
    private var nextLook = ContinuousClock.now

    init(memoryLimit: Int) {
        policy = S3FIFOPolicy(ghostLimit: Self.ghostLimit(ofMemory: memoryLimit))
    }

    func fit(memoryLimit: Int) { policy.ghostLimit = Self.ghostLimit(ofMemory: memoryLimit) }

    /// The policy's hashes take 16 bytes each. They count in the memory limit, and get at most half of it.
    private static func ghostLimit(ofMemory limit: Int) -> Int { limit / 2 / 16 }

    package var memoryBytes: Int { policy.memoryBytes }

    /// The bytes to evict before a store needs room; 0 or less: none. After a step that found no entry, returns 0 until
    /// the used bytes fall, or grow by more than a quarter of the head-room, or the pinned bytes or `isTooMuch` change.
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

    /// `fullness` was measured before the step, `used` after the step.
    func stepEnded(_ freed: Freed, _ fullness: DiskFullness, used: (all: Int64, pinned: Int64)) {
        futile = freed.rows == 0 ? (used, fullness.isTooMuch) : nil
        guard roomToMake > 0 else { return }
        roomToMake -= freed.bytes
        if roomToMake <= 0 || freed.rows == 0 { (roomToMake, nextLook) = (0, .now + .seconds(1)) }
    }

    struct Freed {
        var entries = 0
        /// The removed entries, and the removed uses of dropped captures.
        var rows = 0
        var bytes: Int64 = 0

        mutating func add(_ row: EntryRow) {
            entries += 1
            rows += 1
            bytes += row.cost
        }
    }

    /// Finds the expired, unpinned entries, the earliest expiry first. Eviction removes them before all others.
    static func expiredQuery(now: Timestamp) -> EntryQuery {
        var query = EntryQuery(EntryFilter(state: .stale), now: now)
        query.restrict("pinned = 0", [])
        query.sort(by: "expiry")
        return query
    }
}

/// Gives free index pages back to the file system, because the disk limit does not count them. For the writer's thread.
final class IndexShrinking {
    /// The most free pages that stay for reuse: together as large as the head-room; `.max`: the index never shrinks.
    private let slack: Int64
    private(set) var freePages: Int64

    /// The most pages, of 4,096 bytes, that one transaction gives back, because other operations wait for it.
    private static let stepLimit = 2048

    init(_ db: Database, headRoom: Int64) throws {
        // An index that an older build created without incremental auto-vacuum keeps its pages.
        let isPossible = try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2
        slack = isPossible ? headRoom / 4096 : .max
        freePages = try Self.freePages(db)
    }

    /// Whether to give pages back: the pages beyond ``slack``, or all when the file system has too little room.
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

/// Gives back the disk space of free slots, which bodies of other sizes cannot fill: moves all bodies out of an extent,
/// so that the extent becomes a hole. For the writer's thread.
final class SlabCompaction {
    /// The most bytes that free slots may take: half of the room that eviction keeps free below the limit.
    private let allowance: Int64
    /// The extents that cannot be emptied, because they hold a damaged body.
    private var stuck: Set<Int> = []
    /// ``SlabMap/slackBytes`` when no body could be moved. Compaction does not try again before that number changes.
    private var futileSlack: Int64?

    /// The most bodies that a transaction moves. Other operations wait behind that transaction.
    private static let stepLimit = 64

    init(headRoom: Int64) {
        allowance = headRoom / 2
    }

    /// Whether free slots take more than the allowance, which is 0 when the file system has too little room.
    func isWanted(_ slots: SlabMap, room: Int64) -> Bool {
        let slack = slots.slackBytes
        return slack > (room - slack < 0 ? 0 : allowance) && slack != futileSlack
    }

    func begins(_ slots: SlabMap) -> Bool {
        if slots.beginDraining(except: stuck) != nil { return true }
        futileSlack = slots.slackBytes
        return false
    }

    func step(_ context: WriteContext) throws {
        guard let number = context.slots.draining else { return }
        for slot in context.slots.used(in: number, limit: Self.stepLimit) {
            let content = try? context.parts.slab.content(of: slot)
            let key = content?.withUnsafeBytes { SlabRecordView($0).map { String(decoding: $0.key, as: UTF8.self) } }
            guard let content, let key = key ?? nil, let row = try? context.index.row(forKey: key), row.slot == slot
            else {
                // The scrubber rewrites a ``SlabRecord`` that differs from the index, or removes its entry.
                stuck.insert(number)
                context.slots.endDraining()
                return
            }
            try context.move(row, content)
        }
    }

    func stepFailed(_ slots: SlabMap) {
        slots.endDraining()
        futileSlack = slots.slackBytes
    }
}
