import Foundation
import GRDB
import GRDBSQLite
import Primitives

/// A prepared statement whose values are bound, and which is run, by SQLite's own calls.
///
/// For the few statements that each store runs: GRDB would box each of an entry's 34 values, and build the names of all
/// columns to say that there is no row. GRDB still prepares the statement, keeps it and closes it.
struct DirectStatement {
    private let statement: Statement
    /// The number of the last value that was bound.
    private var bound: Int32 = 0

    private var handle: OpaquePointer { statement.sqliteStatement }

    /// A statement that nobody else runs meanwhile.
    init(_ statement: Statement) {
        self.statement = statement
    }

    // MARK: - Values, one after the other

    /// Binds the next value.
    mutating func bind(_ value: Int64?) {
        bound += 1
        if let value {
            sqlite3_bind_int64(handle, bound, value)
        } else {
            sqlite3_bind_null(handle, bound)
        }
    }

    /// Binds the next value.
    mutating func bind(_ value: Int) { bind(Int64(value)) }

    /// Binds the next value.
    mutating func bind(_ value: Bool) { bind(value ? Int64(1) : 0) }

    /// Binds the next value, which is copied.
    mutating func bind(_ text: String?) {
        bound += 1
        guard var text else {
            sqlite3_bind_null(handle, bound)
            return
        }
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                // An empty text may have no address, which would be NULL.
                _ =
                    bytes.isEmpty
                    ? sqlite3_bind_text(handle, bound, "", 0, Self.copied)
                    : sqlite3_bind_text(handle, bound, bytes.baseAddress, Int32(bytes.count), Self.copied)
            }
        }
    }

    /// Binds the next value, which is copied.
    mutating func bind(_ blob: [UInt8]) {
        bound += 1
        blob.withUnsafeBytes { bytes in
            if bytes.isEmpty {
                _ = sqlite3_bind_zeroblob(handle, bound, 0)
            } else {
                _ = sqlite3_bind_blob(handle, bound, bytes.baseAddress, Int32(bytes.count), Self.copied)
            }
        }
    }

    // MARK: - Running

    /// Runs the statement, which returns no rows, and forgets the values.
    mutating func run() throws {
        if try step() { preconditionFailure("a statement that returns rows was run for none") }
    }

    /// Whether the statement returns a row; forgets the values.
    mutating func hasRow() throws -> Bool { try step() }

    private mutating func step() throws -> Bool {
        let code = sqlite3_step(handle)
        // Read before the reset, which may say something else.
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

    /// SQLITE_TRANSIENT, a macro that Swift cannot import.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}
