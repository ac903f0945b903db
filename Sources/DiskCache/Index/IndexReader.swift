import GRDB
import Primitives

/// What a point look-up brings: a row, and the body when it is kept in the index.
struct FoundRow: Sendable {
    var row: EntryRow
    var inlineBody: SharedBytes?
}

/// The statements that run on reading connections.
struct IndexReader {
    let index: Index
    let namespace: String
    /// The namespace's directory.
    let directory: String

    /// The entry of that key, with an inline body: one look-up.
    func find(_ key: String) throws(DiskCacheError) -> FoundRow? {
        try index.read { db in
            let statement = try db.cachedStatement(sql: Self.findStatement)
            return try statement.first([key]) { row in
                FoundRow(row: try entryRow(row), inlineBody: row.sharedBytes(EntryRow.columnCount))
            }
        }
    }

    /// The entry of that key, without its body.
    func row(forKey key: String) throws(DiskCacheError) -> EntryRow? {
        try index.read { db in
            try db.cachedStatement(sql: Self.rowStatement).first([key]) { try entryRow($0) }
        }
    }

    /// The responses whose keys begin with that MD5, at most `limit`.
    func variants(ofMD5 md5: String, limit: Int) throws(DiskCacheError) -> [EntryRow] {
        try index.read { db in
            let statement = try db.cachedStatement(sql: Self.variantsStatement)
            let arguments: StatementArguments = [md5 + ".", md5 + "/", limit]
            return try statement.all(arguments) { try entryRow($0) }
        }
    }

    /// How many entries match.
    func count(_ query: EntryQuery) throws(DiskCacheError) -> Int {
        try index.list { db in try Int.fetchOne(db, sql: query.sql("COUNT(*)"), arguments: query.arguments) ?? 0 }
    }

    /// How many entries match, at most `limit`.
    func count(_ query: EntryQuery, upTo limit: Int) throws(DiskCacheError) -> Int {
        try index.list { db in
            let sql = "SELECT COUNT(*) FROM (\(query.sql("1")) LIMIT ?)"
            return try Int.fetchOne(db, sql: sql, arguments: query.arguments + [limit]) ?? 0
        }
    }

    /// How many entries have that tag, at most `limit`.
    func count(tag: String, upTo limit: Int) throws(DiskCacheError) -> Int {
        try index.list { db in
            let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM tags WHERE tag = ? LIMIT ?)"
            return try Int.fetchOne(db, sql: sql, arguments: [tag, limit]) ?? 0
        }
    }

    /// Where the row is that comes after `count` others; `nil` when there are not so many.
    func cursor(_ query: EntryQuery, column: String, after count: Int) throws(DiskCacheError) -> ListCursor? {
        try index.list { db in
            let sql = query.sql("\(column), entries.id") + " LIMIT 1 OFFSET ?"
            return try Row.fetchOne(db, sql: sql, arguments: query.arguments + [count]).map { row in
                ListCursor(value: row[0], id: row[1])
            }
        }
    }

    /// The rows that match, at most `limit`.
    func rows(_ query: EntryQuery, limit: Int) throws(DiskCacheError) -> [EntryRow] {
        try index.list { db in
            // Not a cached one: filters, orders and cursors make thousands of different statements.
            let statement = try db.makeStatement(sql: query.sql(EntryRow.columns) + " LIMIT ?")
            let arguments = query.arguments + StatementArguments([limit])
            return try statement.all(arguments) { try entryRow($0) }
        }
    }

    /// Of `paths`, those that are some entry's body.
    func knownPaths(_ paths: [String]) throws(DiskCacheError) -> Set<ExactText> {
        try index.list { db in
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM entries WHERE path = ?")
            return Set(
                try paths.filter { try statement.first([$0]) { _ in true } == true }.map(ExactText.init))
        }
    }

    private func entryRow(_ row: StatementRow) throws -> EntryRow {
        try EntryRow(row, namespace: namespace, directory: directory)
    }

    private static let findStatement = """
        SELECT \(EntryRow.columns), body FROM entries LEFT JOIN bodies ON bodies.id = entries.id WHERE key = ?
        """
    /// A slash is the character after the dot.
    private static let variantsStatement =
        "SELECT \(EntryRow.columns) FROM entries WHERE key > ? AND key < ? LIMIT ?"
    private static let rowStatement = "SELECT \(EntryRow.columns) FROM entries WHERE key = ?"
}
