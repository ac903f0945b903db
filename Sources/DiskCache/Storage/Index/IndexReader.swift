import GRDB
import Primitives

struct IndexReader {
    let index: EntryIndex
    let namespace: String
    let directory: String

    func row(forKey key: String, mayWait: Bool) throws(DiskCacheError) -> Lookup<EntryRow?> {
        try index.lookUp(mayWait: mayWait) { connection in
            var found: EntryRow?
            try connection.rows(.entry, [key]) { found = try entryRow($0) }
            return found
        }
    }

    func row(forKey key: String) throws(DiskCacheError) -> EntryRow? {
        guard case .found(let row) = try row(forKey: key, mayWait: true) else { return nil }
        return row
    }

    func variants(ofMD5 md5: String, limit: Int, mayWait: Bool) throws(DiskCacheError) -> Lookup<[EntryRow]> {
        try index.lookUp(mayWait: mayWait) { connection in
            var found: [EntryRow] = []
            let (first, last) = ResponseKeys.bounds(ofMD5: md5)
            try connection.rows(.responses, [first, last], limit: limit) {
                found.append(try entryRow($0))
            }
            return found
        }
    }

    func count(_ query: EntryQuery) throws(DiskCacheError) -> Int {
        try count(query.sql("COUNT(*)"), query.arguments)
    }

    func count(_ query: EntryQuery, upTo limit: Int) throws(DiskCacheError) -> Int {
        try count("SELECT COUNT(*) FROM (\(query.sql("1")) LIMIT ?)", query.arguments + [limit])
    }

    func count(tag: String, upTo limit: Int) throws(DiskCacheError) -> Int {
        try count("SELECT COUNT(*) FROM (SELECT 1 FROM tags WHERE tag = ? LIMIT ?)", [tag, limit])
    }

    private func count(_ sql: String, _ arguments: StatementArguments) throws(DiskCacheError) -> Int {
        try index.list { try Int.fetchOne($0, sql: sql, arguments: arguments) ?? 0 }
    }

    /// The position of the row that follows the first `count` rows; `nil` when there are not so many.
    func cursor(_ query: EntryQuery, column: String, after count: Int) throws(DiskCacheError) -> ListCursor? {
        try index.list { db in
            let sql = query.sql("\(column), entries.id") + " LIMIT 1 OFFSET ?"
            return try Row.fetchOne(db, sql: sql, arguments: query.arguments + [count]).map { row in
                ListCursor(value: row[0], id: row[1])
            }
        }
    }

    func rows(_ query: EntryQuery, limit: Int) throws(DiskCacheError) -> [EntryRow] {
        try index.list { db in
            // The statement is not cached, because filters, orders and cursors make thousands of different statements.
            let statement = try db.makeStatement(sql: query.sql(EntryRow.columns) + " LIMIT ?")
            return try statement.all(query.arguments + [limit], entryRow)
        }
    }

    /// Returns the elements of `paths` that are paths of entries' bodies.
    func knownPaths(_ paths: [String]) throws(DiskCacheError) -> Set<ExactText> {
        try index.list { db in
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM entries WHERE path = ?")
            return Set(try paths.filter { try statement.first([$0]) { _ in true } == true }.map(ExactText.init))
        }
    }

    private func entryRow(_ row: StatementRow) throws -> EntryRow {
        try EntryRow(row, namespace: namespace, directory: directory)
    }
}
