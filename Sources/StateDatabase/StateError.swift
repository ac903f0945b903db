import Foundation

/// A failure of a ``StateDatabase``.
package enum StateError: Error, Hashable, Sendable {
    /// The disk is full. The database has not kept any part of the transaction.
    case noSpace
    /// Another process, or another object of this process, has the file open.
    case inUse(path: String)
    /// The file is no database, or has lost a part of its rows. `reason` is SQLite's report.
    case damaged(path: String, reason: String)
    /// The file is a database with the `application_id` of another program, or with tables and no id.
    case foreignFile(path: String)
    /// A newer program has written the file. `found` and `supported` count the migrations of either program.
    case newerFormat(path: String, found: Int, supported: Int)
    /// A system call failed before SQLite opened the file. `operation` is the name of the call, such as `mkdir`.
    case fileSystem(operation: String, path: String, errno: Int32)
    /// The file, or its log, was removed or replaced while it was open. The transaction would be lost with the process.
    case removed(path: String)
    /// A call came after ``StateDatabase/close()``.
    case closed
    /// SQLite's extended result code and its message.
    case database(code: Int32, message: String)

    /// Keeps a `StateError` as it is. Any other error, such as that of a row with an unknown form, becomes
    /// ``database(code:message:)`` with the code -1.
    package init(_ error: any Error) {
        self = error as? StateError ?? .database(code: -1, message: "\(error)")
    }
}

extension StateError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSpace: "the disk is full, and nothing was stored; free some space and try again"
        case .inUse(let path): "\(path) is in use by another process; stop that process, or use another directory"
        case .damaged(let path, let reason):
            """
            the database \(path) is damaged (\(reason)) and was left as it is. Restore it from a backup, or move it and \
            \(path)-wal elsewhere and start again; "sqlite3 FILE .recover" reads the rows that are left
            """
        case .foreignFile(let path):
            "\(path) is a database of another program and was not changed; use another directory"
        case .newerFormat(let path, let found, let supported):
            "the database \(path) has format \(found), but this program supports formats to \(supported); update it"
        case .fileSystem(let operation, let path, let errno):
            """
            \(operation) \(path): \(String(cString: strerror(errno))); the state directory must be a directory that the \
            server may read and write
            """
        case .removed(let path):
            """
            the database \(path) was removed or replaced while it was open, and the data was not stored; restart the \
            server, and send it again
            """
        case .closed: "the database is closed"
        case .database(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}
