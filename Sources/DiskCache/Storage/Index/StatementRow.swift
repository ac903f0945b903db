import GRDB
import GRDBSQLite

/// The current row of a statement, read column by column.
///
/// GRDB's `Row` converts each column to a value of any type, which takes several times the work. In a look-up that was
/// the larger part.
struct StatementRow {
    /// A `sqlite3_stmt` that has just returned a row.
    let statement: OpaquePointer

    /// A number; 0 for NULL.
    subscript(column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    /// A number; 0 for NULL.
    subscript(column: Int) -> Int { Int(self[column] as Int64) }

    /// Whether a number is not 0.
    subscript(column: Int) -> Bool { (self[column] as Int64) != 0 }

    /// A number; `nil` for NULL.
    subscript(column: Int) -> Int64? { isNull(column) ? nil : sqlite3_column_int64(statement, Int32(column)) }

    /// A text; empty for NULL.
    subscript(column: Int) -> String { (self[column] as String?) ?? "" }

    /// A text; `nil` for NULL.
    subscript(column: Int) -> String? {
        guard let bytes = sqlite3_column_text(statement, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// The bytes of a blob, valid until the statement's next step; `nil` for NULL.
    func blob(_ column: Int) -> UnsafeRawBufferPointer? {
        guard !isNull(column) else { return nil }
        let bytes = sqlite3_column_blob(statement, Int32(column))
        return UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, Int32(column))))
    }

    private func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }
}
