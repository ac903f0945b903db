import GRDB
import GRDBSQLite
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

enum LookupQuery: Int, CaseIterable {
    case entry
    /// The responses with keys between two texts, up to a limit.
    case responses

    fileprivate var sql: String {
        switch self {
        case .entry: "SELECT \(EntryRow.columns) FROM entries WHERE key = ?"
        case .responses: "SELECT \(EntryRow.columns) FROM entries WHERE \(ResponseKeys.condition()) LIMIT ?"
        }
    }
}

/// A read-only connection for look-ups, for any thread. GRDB would cost more than the look-up itself.
final class LookupConnection: Sendable {
    /// The look-up needs data that is not in memory, and this connection does not wait for the disk.
    struct NotCached: Error {}

    private struct State {
        var database: OpaquePointer?
        var statements = [OpaquePointer?](repeating: nil, count: LookupQuery.allCases.count)
        var isClosed = false
    }

    private let name: String
    private let cacheBytes: Int
    private let state = Locked(State())

    /// `name` is a URI (<https://sqlite.org/uri.html>). The page cache is valid until the next write to the index.
    init(_ name: String, cacheBytes: Int) {
        self.name = name
        self.cacheBytes = cacheBytes
    }

    deinit { close() }

    /// Opens the files. Later look-ups use the same files, even if other files have taken their names. Throws
    /// ``NotCached`` when opening would need the disk; the first look-up then opens the files.
    func open() throws {
        try rows(.entry, [""]) { _ in }
    }

    /// Throws ``NotCached``, `DatabaseError`, and the errors of `read`.
    func rows(
        _ query: LookupQuery, _ texts: [String], limit: Int? = nil, _ read: (StatementRow) throws -> Void
    ) throws {
        try state.withLock { state in
            let statement = try statement(query, &state)
            defer {
                sqlite3_reset(statement)
                sqlite3_clear_bindings(statement)
            }
            for (number, text) in texts.enumerated() { StatementText.bind(text, to: statement, at: Int32(number + 1)) }
            if let limit { sqlite3_bind_int64(statement, Int32(texts.count + 1), Int64(limit)) }
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW: try read(StatementRow(statement: statement))
                case SQLITE_DONE: return
                case let code: throw Self.error(code, state.database)
                }
            }
        }
    }

    func releaseMemory() {
        state.withLock { state in
            if let database = state.database { sqlite3_db_release_memory(database) }
        }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            Self.close(&state)
        }
    }

    private func statement(_ query: LookupQuery, _ state: inout State) throws -> OpaquePointer {
        if let statement = state.statements[query.rawValue] { return statement }
        if state.isClosed { throw DiskCacheError.closed }
        if state.database == nil { try open(&state) }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(state.database, query.sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw Self.error(code, state.database) }
        state.statements[query.rawValue] = statement
        return statement
    }

    private func open(_ state: inout State) throws {
        // SQLite's own mutexes are off, because the lock of this object replaces them.
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
        var code = sqlite3_open_v2(name, &state.database, flags, nil)
        if code == SQLITE_OK {
            sqlite3_busy_timeout(state.database, 5000)
            code = sqlite3_exec(state.database, "PRAGMA cache_size = -\(cacheBytes >> 10)", nil, nil, nil)
        }
        guard code == SQLITE_OK else {
            let error = Self.error(code, state.database)
            Self.close(&state)
            throw error
        }
    }

    private static func close(_ state: inout State) {
        for statement in state.statements { sqlite3_finalize(statement) }
        sqlite3_close(state.database)
        state.database = nil
        state.statements = state.statements.map { _ in nil }
    }

    private static func error(_ code: Int32, _ database: OpaquePointer?) -> any Error {
        if code == CachedFilesVFS.notCached { return NotCached() }
        let message = database.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        return DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
}

/// Several look-up connections, so that threads seldom wait for each other.
final class LookupPool: Sendable {
    private let connections: [LookupConnection]
    /// `free`: the unused connections. When there is none, a thread waits for the connection that follows `turn`.
    private let idle: Locked<(free: [Int], turn: Int)>

    init(_ count: Int, _ name: String, cacheBytes: Int) {
        connections = (0..<count).map { _ in LookupConnection(name, cacheBytes: cacheBytes) }
        idle = Locked((Array(connections.indices.reversed()), 0))
    }

    func withConnection<Value>(_ body: (LookupConnection) throws -> Value) rethrows -> Value {
        let (number, isFree) = idle.withLock { idle in
            if let number = idle.free.popLast() { return (number, true) }
            idle.turn = (idle.turn + 1) % connections.count
            return (idle.turn, false)
        }
        defer { if isFree { idle.withLock { $0.free.append(number) } } }
        return try body(connections[number])
    }

    /// Skips a connection that may not wait for the disk but would have to.
    func open() throws {
        for connection in connections {
            do { try connection.open() } catch is LookupConnection.NotCached {}
        }
    }

    func releaseMemory() { connections.forEach { $0.releaseMemory() } }
    func close() { connections.forEach { $0.close() } }
}
