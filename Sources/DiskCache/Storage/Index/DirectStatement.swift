import GRDB
import GRDBSQLite

/// A prepared statement run with SQLite's own calls, because GRDB would box the 37 values of each stored row.
struct DirectStatement {
    private let statement: Statement
    private var bound: Int32 = 0
    private var handle: OpaquePointer { statement.sqliteStatement }

    /// No other code may run the statement at the same time.
    init(_ statement: Statement) {
        self.statement = statement
    }

    /// `nil` stays NULL, because a statement has no values before its first run and after each run.
    mutating func bind(_ value: Int64?) {
        bound += 1
        if let value { sqlite3_bind_int64(handle, bound, value) }
    }

    mutating func bind(_ value: Int) { bind(Int64(value)) }
    mutating func bind(_ value: Bool) { bind(value ? Int64(1) : 0) }

    /// SQLite copies the text.
    mutating func bind(_ text: String?) {
        bound += 1
        if let text { StatementText.bind(text, to: handle, at: bound) }
    }

    mutating func bind(_ blob: [UInt8]) {
        bound += 1
        blob.withUnsafeBytes { bytes in
            if bytes.isEmpty {
                _ = sqlite3_bind_zeroblob(handle, bound, 0)
            } else {
                _ = sqlite3_bind_blob(handle, bound, bytes.baseAddress, Int32(bytes.count), StatementText.copied)
            }
        }
    }

    /// The statement must return no rows.
    mutating func run() throws {
        if try hasRow() { preconditionFailure("a statement that must return no rows returned a row") }
    }

    /// Clears the values afterwards.
    mutating func hasRow() throws -> Bool {
        let code = sqlite3_step(handle)
        // The error is read before the reset, which may change it.
        let error = code == SQLITE_ROW || code == SQLITE_DONE ? nil : error(code)
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
        bound = 0
        if let error { throw error }
        return code == SQLITE_ROW
    }

    private func error(_ code: Int32) -> DatabaseError {
        let message = sqlite3_errmsg(sqlite3_db_handle(handle)).map { String(cString: $0) }
        return DatabaseError(resultCode: ResultCode(rawValue: code), message: message, sql: statement.sql)
    }
}

/// The current row of a statement, read column by column. GRDB's `Row` converts each column to a value of any type,
/// which takes several times as long: the larger part of a look-up. NULL reads as 0, `false`, an empty text, or `nil`.
struct StatementRow {
    /// A `sqlite3_stmt` that has just returned a row.
    let statement: OpaquePointer

    subscript(column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }
    subscript(column: Int) -> Int { Int(self[column] as Int64) }
    subscript(column: Int) -> Bool { (self[column] as Int64) != 0 }
    subscript(column: Int) -> Int64? { isNull(column) ? nil : sqlite3_column_int64(statement, Int32(column)) }
    subscript(column: Int) -> String { (self[column] as String?) ?? "" }

    subscript(column: Int) -> String? {
        guard let bytes = sqlite3_column_text(statement, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Valid until the statement's next step.
    func blob(_ column: Int) -> UnsafeRawBufferPointer? {
        guard !isNull(column) else { return nil }
        let bytes = sqlite3_column_blob(statement, Int32(column))
        return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, Int32(column))))
    }

    private func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }
}

enum StatementText {
    /// SQLITE_TRANSIENT, with which SQLite copies a value; a macro that Swift cannot import.
    static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Parameters are numbered from 1.
    static func bind(_ text: String, to statement: OpaquePointer, at position: Int32) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // An empty text may have no address, which SQLite would bind as NULL.
                _ =
                    bytes.isEmpty
                    ? sqlite3_bind_text(statement, position, "", 0, copied)
                    : sqlite3_bind_text(statement, position, bytes.baseAddress, Int32(bytes.count), copied)
            }
        }
    }
}

/// The statements that each store runs.
enum StoreQuery: Int, CaseIterable {
    case held, insert
    /// Whether there may be a response with a given MD5. A caller's own key with the same beginning counts, too.
    case variant
    /// Whether a URL has ``Entry/variantLimit`` responses. Fast, because their keys lie side by side in the index.
    case fullVariants
    case longFields

    var sql: String {
        switch self {
        case .held: "SELECT 1 FROM entries WHERE key = ?"
        case .insert: Self.insertion
        case .variant: "SELECT 1 FROM entries WHERE key > ? AND key < ? LIMIT 1"
        case .fullVariants:
            "SELECT 1 FROM entries WHERE \(ResponseKeys.condition()) LIMIT 1 OFFSET \(Entry.variantLimit - 1)"
        case .longFields:
            // The cast makes `length` count bytes, because for a text it counts characters.
            """
            SELECT 1 FROM (SELECT sum(length(CAST(fields AS BLOB))) AS bytes FROM entries \
            WHERE \(ResponseKeys.condition())) WHERE bytes > ?
            """
        }
    }

    /// Inserts the row that ``EntryRow/bind(to:)`` has bound, or replaces the row with the same id.
    static let putStatement =
        "\(insertion) ON CONFLICT (id) DO UPDATE SET "
        + names.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")

    private static let insertion = """
        INSERT INTO entries (\(names.joined(separator: ", "))) VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
        """

    private static let names =
        EntryRow.columns.replacing("entries.", with: "").split(separator: ", ")
        + ["sweepable", "canonicalURL", "canonicalKey"]
}

/// The statements of ``StoreQuery``, looked up once in a transaction, because a look-up hashes the whole SQL text.
final class StoreStatements {
    private let db: Database
    private var prepared = [DirectStatement?](repeating: nil, count: StoreQuery.allCases.count)

    init(_ db: Database) { self.db = db }

    subscript(query: StoreQuery) -> DirectStatement {
        get throws {
            if let statement = prepared[query.rawValue] { return statement }
            let statement = DirectStatement(try db.cachedStatement(sql: query.sql))
            prepared[query.rawValue] = statement
            return statement
        }
    }
}
