import GRDB

/// Gives back the pages of the index that removed entries left free. SQLite keeps free pages for later rows. When large
/// bodies take the place of many small ones, there may be no such rows, and the free pages would take disk space beside
/// the limit. The writer's thread alone uses this object.
final class IndexShrinking {
    /// The most pages that may stay free for reuse: as many bytes as eviction keeps free below the limit.
    private let slack: Int64
    /// The number of free pages as of the last commit.
    private(set) var freePages: Int64

    /// The most pages, of 4,096 bytes, that go in one transaction, because other operations wait behind it.
    private static let stepLimit = 2048

    /// - Parameter headRoom: ``DiskFullness/headRoom(ofLimit:pinned:)``.
    init(_ db: Database, headRoom: Int64) throws {
        // An index that an older build created without incremental auto-vacuum keeps its pages.
        let isPossible = try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2
        slack = isPossible ? headRoom / 4096 : .max
        freePages = try Self.freePages(db)
    }

    /// Whether pages should be given back. With too little room on the file system, all free pages should.
    func isWanted(room: Int64) -> Bool {
        slack < .max && freePages > (room - freePages * 4096 < 0 ? 0 : slack)
    }

    static func freePages(_ db: Database) throws -> Int64 {
        try db.cachedStatement(sql: "PRAGMA freelist_count").first([]) { $0[0] } ?? 0
    }

    /// Updates the number of free pages after a commit.
    func committed(freePages: Int64) {
        self.freePages = freePages
    }

    /// Gives some pages back. The next checkpoint truncates the file.
    static func step(_ db: Database) throws {
        try db.execute(sql: "PRAGMA incremental_vacuum(\(stepLimit))")
    }

    /// Stops shrinking after a failed step until the next commit, because another attempt before that would fail, too.
    func stepFailed() {
        freePages = 0
    }
}
