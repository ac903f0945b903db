import GRDB
import Primitives

/// What was found of what was looked for.
enum Lookup<Value: Sendable>: Sendable {
    case found(Value)
    /// It has to be read from the disk, which was not allowed.
    case onDisk
}

/// The statements that run on reading connections.
struct IndexReader {
    let index: Index
    let namespace: String
    /// The namespace's directory.
    let directory: String

    /// The entry of that key: one look-up.
    ///
    /// - Parameter mayWait: whether to wait for the disk; otherwise it may be ``Lookup/onDisk``.
    func row(forKey key: String, mayWait: Bool) throws(DiskCacheError) -> Lookup<EntryRow?> {
        try index.lookUp(mayWait: mayWait) { connection in
            var found: EntryRow?
            try connection.rows(.entry, [key]) { found = try entryRow($0) }
            return found
        }
    }

    /// ``row(forKey:mayWait:)``, and waits.
    func row(forKey key: String) throws(DiskCacheError) -> EntryRow? {
        guard case .found(let row) = try row(forKey: key, mayWait: true) else { return nil }
        return row
    }

    /// The responses whose keys begin with that MD5, at most `limit`.
    ///
    /// - Parameter mayWait: see ``row(forKey:mayWait:)``.
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
}
