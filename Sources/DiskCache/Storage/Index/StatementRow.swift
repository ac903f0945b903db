import GRDB
import GRDBSQLite

/// The current row of a statement, read column by column. GRDB's `Row` converts each column to a value of any type,
/// several times the work: the larger part of a look-up. NULL reads as 0, `false`, an empty text, or `nil`.
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
