import GRDB

/// The tables `captures` and `uses`. A capture without a page is running, or was dropped and waits for its removal.
extension IndexWriter {
    func insertCapture(_ number: Int64) throws {
        try execute("INSERT INTO captures (number) VALUES (?)", [number])
    }

    func removeCapture(_ number: Int64) throws {
        try execute("DELETE FROM captures WHERE number = ?", [number])
    }

    /// `page` is the id of the page's entry; `nil` drops the capture.
    func setPage(_ page: Int64?, ofCapture number: Int64) throws {
        try execute("UPDATE captures SET page = ? WHERE number = ?", [page, number])
    }

    /// The numbers of a page's captures, the oldest first.
    func captures(ofPage page: Int64) throws -> [Int64] {
        try numbers("SELECT number FROM captures WHERE page = ? ORDER BY number", [page])
    }

    func capturesWithoutPage(limit: Int = 1000) throws -> [Int64] {
        try numbers("SELECT number FROM captures WHERE page IS NULL ORDER BY number LIMIT ?", [limit])
    }

    func addUse(of resource: Int64, by capture: Int64) throws {
        try execute("INSERT OR IGNORE INTO uses VALUES (?, ?)", [capture, resource])
    }

    func removeUse(of resource: Int64, by capture: Int64) throws {
        try execute("DELETE FROM uses WHERE capture = ? AND resource = ?", [capture, resource])
    }

    func removeUses(of resource: Int64) throws {
        try execute("DELETE FROM uses WHERE resource = ?", [resource])
    }

    /// The ids of resources that the capture uses.
    func resources(ofCapture number: Int64, limit: Int) throws -> [Int64] {
        try numbers("SELECT resource FROM uses WHERE capture = ? LIMIT ?", [number, limit])
    }

    /// The ids of resources that captures of the page use, each once.
    func resources(ofPage page: Int64) throws -> [Int64] {
        try numbers(
            "SELECT DISTINCT resource FROM captures CROSS JOIN uses ON uses.capture = captures.number WHERE page = ?",
            [page])
    }

    func isUsed(_ resource: Int64) throws -> Bool {
        try !numbers("SELECT 1 FROM uses WHERE resource = ? LIMIT 1", [resource]).isEmpty
    }

    func isUsedByPinnedPage(_ resource: Int64) throws -> Bool {
        try !numbers(
            """
            SELECT 1 FROM uses JOIN captures ON captures.number = uses.capture \
            JOIN entries ON entries.id = captures.page WHERE uses.resource = ? AND entries.pinned <> 0 LIMIT 1
            """, [resource]
        ).isEmpty
    }

    private func numbers(_ sql: String, _ arguments: StatementArguments) throws -> [Int64] {
        try db.cachedStatement(sql: sql).all(arguments) { $0[0] }
    }
}
