import GRDB
import Primitives

/// Finishes the step to format 3 of the index: older indexes kept bodies as rows of a table `bodies`, and this step
/// moves them to the slab. It runs once, at the first start. After a kill, the next start goes on with the bodies that
/// are left.
enum MovedBodies {
    /// The most bodies that a transaction moves.
    private static let stepLimit = 64

    /// Moves all bodies of the table. Runs before the writer's thread starts.
    static func run(_ parts: CacheParts, _ loop: WriterLoop) throws(DiskCacheError) {
        let count = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'bodies'"
        guard try parts.index.list({ try Int.fetchOne($0, sql: count) }) != 0 else { return }
        let outcome = ResultBox<Result<Int, DiskCacheError>>()
        var moved = 0
        while true {
            var count = 0
            loop.run([
                WriterLoop.Job(
                    work: { context in count = try step(context) },
                    finish: { error in outcome.set(error.map { .failure($0) } ?? .success(count)) }, makesRoom: true)
            ])
            let rows = try (outcome.take() ?? .failure(.closed)).get()
            if rows == 0 { break }
            moved += rows
            parts.index.checkpoint()
        }
        if moved > 0 {
            parts.log(DiskCacheNotice(.info, "bodies were moved from the index to the slab", ["count": .number(moved)]))
        }
    }

    /// Moves some bodies, and returns how many rows that took. Drops the table when it is empty.
    private static func step(_ context: WriteContext) throws -> Int {
        let db = context.index.db
        let query = try db.cachedStatement(sql: "SELECT id, body FROM bodies ORDER BY id LIMIT ?")
        let found: [(id: Int64, body: SharedBytes)] = try query.all([stepLimit]) { row in
            (row[0], row.sharedBytes(1) ?? SharedBytes([]))
        }
        guard let last = found.last else {
            try db.execute(sql: "DROP TABLE bodies")
            return 0
        }
        for (id, body) in found {
            // A body that does not match its row gets no slot. So no reader gets it, and the scrubber removes its
            // entry.
            guard let row = try context.index.row(forID: id), row.path == nil, row.slot == nil,
                digest(of: body) == row.entry.digest
            else { continue }
            try context.index.setSlot(of: id, try context.keep(body, of: row.entry))
        }
        try db.execute(sql: "DELETE FROM bodies WHERE id <= ?", arguments: [last.id])
        // Gives free pages back at once, so that the move needs no more extra disk space than a few bodies.
        try IndexShrinking.step(db)
        return found.count
    }
}
