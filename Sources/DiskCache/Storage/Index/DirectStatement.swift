import Foundation
import GRDB
import GRDBSQLite
import Primitives

/// A prepared statement that is bound and run with SQLite's own calls, for the few statements that each store runs.
/// GRDB would box each of the 36 values of an entry's row, and build the names of all columns only to report that there
/// is no row. GRDB still prepares, caches and closes the statement.
struct DirectStatement {
    private let statement: Statement
    private var bound: Int32 = 0

    private var handle: OpaquePointer { statement.sqliteStatement }

    /// No other code may run the statement at the same time.
    init(_ statement: Statement) {
        self.statement = statement
    }

    // MARK: - Values, one after the other

    mutating func bind(_ value: Int64?) {
        bound += 1
        if let value {
            sqlite3_bind_int64(handle, bound, value)
        } else {
            sqlite3_bind_null(handle, bound)
        }
    }

    mutating func bind(_ value: Int) { bind(Int64(value)) }

    mutating func bind(_ value: Bool) { bind(value ? Int64(1) : 0) }

    /// SQLite copies the text.
    mutating func bind(_ text: String?) {
        bound += 1
        if let text {
            StatementText.bind(text, to: handle, at: bound)
        } else {
            sqlite3_bind_null(handle, bound)
        }
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

    // MARK: - Running

    /// Clears the values afterwards. The statement must return no rows.
    mutating func run() throws {
        if try step() { preconditionFailure("a statement that returns rows was run for none") }
    }

    mutating func hasRow() throws -> Bool { try step() }

    private mutating func step() throws -> Bool {
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
