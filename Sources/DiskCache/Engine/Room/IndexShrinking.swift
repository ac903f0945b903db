import GRDB

/// Gives back free pages of the index, which SQLite keeps for later rows. When large bodies take the place of many
/// small ones, there may be no such rows, and the pages would take space beside the limit. For the writer's thread.
final class IndexShrinking {
    /// The most pages that may stay free for reuse: as many bytes as eviction keeps free below the limit.
    private let slack: Int64
    /// The number as of the last commit.
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

    func committed(freePages: Int64) {
        self.freePages = freePages
    }

    /// The next checkpoint truncates the file.
    static func step(_ db: Database) throws {
        try db.execute(sql: "PRAGMA incremental_vacuum(\(stepLimit))")
    }

    /// Stops shrinking until the next commit, because another attempt before that would fail, too.
    func stepFailed() {
        freePages = 0
    }
}
