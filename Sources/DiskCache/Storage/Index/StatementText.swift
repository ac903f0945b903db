import GRDBSQLite

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
