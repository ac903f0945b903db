import GRDB

/// Gives back the pages of the index that removed entries have left free. SQLite keeps them for rows to come; but when
/// large bodies take the place of many small ones none may come, and what is free would take the disk beside the limit.
/// Touched by the writer's thread alone.
final class IndexShrinking {
    /// How many pages may stay free, to be filled again: as much as eviction keeps free below the limit.
    private let slack: Int64
    /// How many pages are free as of the last commit.
    private(set) var freePages: Int64

    /// The most pages that go in one transaction, which others wait behind: of 4,096 bytes.
    private static let stepLimit = 2048

    /// - Parameter headRoom: ``Eviction/headRoom(ofLimit:pinned:)``.
    init(_ db: Database, headRoom: Int64) throws {
        // An index of a build before this could be chosen keeps what it has.
        let isPossible = try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2
        slack = isPossible ? headRoom / 4096 : .max
        freePages = try Self.freePages(db)
    }

    /// Whether there are pages to give back: all, when the file system has too little room.
    func isWanted(room: Int64) -> Bool {
        slack < .max && freePages > (room - freePages * 4096 < 0 ? 0 : slack)
    }

    /// How many pages are free.
    static func freePages(_ db: Database) throws -> Int64 {
        try db.cachedStatement(sql: "PRAGMA freelist_count").first([]) { $0[0] } ?? 0
    }

    /// A transaction was committed, after which that many pages are free.
    func committed(freePages: Int64) {
        self.freePages = freePages
    }

    /// Gives some pages back. The file is cut by the next checkpoint.
    static func step(_ db: Database) throws {
        try db.execute(sql: "PRAGMA incremental_vacuum(\(stepLimit))")
    }

    /// A step failed: it is no use to try again before something else was committed.
    func stepFailed() {
        freePages = 0
    }
}
