import GRDB
import Primitives

/// What the step to format 3 of the index leaves to do: bodies were rows of a table `bodies`, and go into the slab.
/// Once, at the first start; what was moved when the process is killed need not be moved again.
enum MovedBodies {
    /// How many are moved in one transaction.
    private static let stepLimit = 64

    /// Moves all that are there. Runs before the writer's thread does.
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

    /// Moves some; how many rows that took. Removes the table when it is empty.
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
            // What does not agree stays without a slot: nobody is given it, and the scrub removes its entry.
            guard let row = try context.index.row(forID: id), row.path == nil, row.slot == nil,
                digest(of: body) == row.entry.digest
            else { continue }
            try context.index.setSlot(of: id, try context.keep(body, of: row.entry))
        }
        try db.execute(sql: "DELETE FROM bodies WHERE id <= ?", arguments: [last.id])
        // So that all of it takes no more room on disk than a few bodies do.
        try IndexShrinking.step(db)
        return found.count
    }
}
