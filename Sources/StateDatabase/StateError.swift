import Foundation

/// A failure of a ``StateDatabase``.
package enum StateError: Error, Hashable, Sendable {
    /// The disk is full. The database has not kept any part of the transaction.
    case noSpace
    /// Another process, or another object of this process, has the file open.
    case inUse(path: String)
    case damaged(path: String, reason: String)
    case foreignFile(path: String)
    case newerFormat(path: String, found: Int, supported: Int)
    case fileSystem(operation: String, path: String, errno: Int32)
    case closed
    /// SQLite's extended result code and its message.
    case database(code: Int32, message: String)
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
            "\(operation) \(path): \(String(cString: strerror(errno)))"
        case .closed: "the database is closed"
        case .database(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}
