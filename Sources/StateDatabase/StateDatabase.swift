import GRDB
import GRDBSQLite

/// A database with data that is no cache, in one file of a state directory. Every change of it is durable when a call
/// returns.
///
///     let database = try StateDatabase(directory: "/var/lib/larder", schema: schema)
///     try database.write { db in try db.execute(sql: "…") }
///
/// The journal is a write-ahead log with `synchronous=FULL`, because a commit then needs one `fsync`, where a rollback
/// journal needs three. The lock is exclusive: no second process can act on the same rows, and SQLite keeps the index
/// of the log in memory, not in a mapped file that a full disk could break. One connection reads and writes. Calls
/// block, so they belong on a thread that may wait for the disk.
package final class StateDatabase: Sendable {
    /// The tables of a database.
    package struct Schema: Sendable {
        /// The name of the file in the state directory, such as `outbox.sqlite`.
        package let file: String
        /// `PRAGMA application_id`, which marks the files of one kind.
        package let application: Int
        /// SQL texts. Each one leads from one format to the next; `PRAGMA user_version` counts them. A file of an older
        /// format gets the missing ones when it is opened, so an element that was ever released never changes.
        package let migrations: [String]

        /// The first element of `migrations` creates the tables of format 1.
        package init(file: String, application: Int, migrations: [String]) {
            self.file = file
            self.application = application
            self.migrations = migrations
        }
    }

    /// The path of the file; the target of a symbolic link in its place. SQLite keeps recent transactions beside it, in
    /// the log with the suffix `-wal`.
    package let path: String
    /// The path in the state directory, which differs from `path` for a symbolic link.
    private let name: String
    private let queue: DatabaseQueue
    private let identity: StateFile.Identity?
    private let health: StateHealth

    /// Opens the file, or creates it. An existing file is checked completely, which reads all of it.
    ///
    /// - Parameters:
    ///   - health: gets the outcome of the opening and of later calls.
    ///   - check: throws for rows of an unknown form, so that they end the opening and not a later call.
    /// - Throws: ``StateError/damaged(path:reason:)``, ``StateError/foreignFile(path:)``,
    ///   ``StateError/newerFormat(path:found:supported:)`` and ``StateError/inUse(path:)``, each without a change of
    ///   the file; the errors of `check`, as they are.
    package init(
        directory: String, schema: Schema, health: StateHealth = StateHealth(),
        check: (Database) throws -> Void = { _ in }
    ) throws {
        self.health = health
        name = directory + "/" + schema.file
        do {
            (path, queue) = try Self.open(directory, schema, check)
        } catch {
            health.failed(StateError(error))
            throw error
        }
        identity = StateFile.identity(name)
        health.opened()
    }

    private static func open(
        _ directory: String, _ schema: Schema, _ check: (Database) throws -> Void
    ) throws -> (path: String, queue: DatabaseQueue) {
        let path = try StateFile.prepare(schema.file, in: directory) { path in
            let queue = try connect(path, schema) { _ in }
            // The file gets its name without the log, so the log must be empty. A full disk can prevent this.
            try checkpoint(queue, path)
            try? queue.close()
        }
        return (path, try connect(path, schema, check))
    }

    /// Opens a file and brings it to the present format.
    private static func connect(
        _ path: String, _ schema: Schema, _ check: (Database) throws -> Void
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "larder.\(schema.file)"
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            // A foreign file is not converted to a log, so the check comes first.
            _ = try schema.format(of: db, path: path)
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = FULL;
                    PRAGMA secure_delete = ON;
                    PRAGMA journal_size_limit = 16777216;
                    PRAGMA temp_store = MEMORY;
                    """)
        }
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { db in
                let report = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "no report"
                guard report == "ok" else { throw StateError.damaged(path: path, reason: report) }
                try schema.prepare(db, path: path)
                try check(db)
            }
            return queue
        } catch let error as DatabaseError {
            throw map(error, path)
        }
    }

    /// Whether a state directory has the file of a schema, or only its log, which is the sign of a loss. A file that
    /// cannot be reached counts as present, so that its opening tells the reason.
    package static func exists(_ schema: Schema, in directory: String) -> Bool {
        StateFile.exists(schema.file, in: directory)
    }

    /// Writes the log into the file. SQLite takes a damaged log for the end of the log, without a report, so the rows
    /// that are only in the log should be few. Costs two calls of `fsync`, and none if the log is empty.
    package func checkpoint() throws {
        do {
            // The checkpoint of an empty log would not notice that the file has gone.
            guard StateFile.identity(name) == identity else { throw StateError.removed(path: path) }
            try Self.checkpoint(queue, path)
            health.succeeded()
        } catch {
            throw noted(error)
        }
    }

    private static func checkpoint(_ queue: DatabaseQueue, _ path: String) throws {
        do {
            try queue.writeWithoutTransaction { db in
                // GRDB's `checkpoint` crashes after `close`. The first column tells whether a reader was in the way.
                let isIncomplete = try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? 1
                guard isIncomplete == 0 else { throw DatabaseError(resultCode: .SQLITE_BUSY) }
            }
        } catch let error as DatabaseError {
            throw map(error, path)
        }
    }

    /// Writes the log into the file and closes the connection. Later calls throw ``StateError/closed``.
    package func close() {
        try? queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try? queue.close()
    }

    /// Runs a transaction. An error of `body` undoes all of it, and is thrown as it is; an error of SQLite becomes a
    /// ``StateError``.
    ///
    /// - Throws: ``StateError/removed(path:)`` if the file is not at its path any more, because the transaction would
    ///   be lost with the process.
    package func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            let value = try queue.write { db in
                guard StateFile.identity(name) == identity else { throw StateError.removed(path: path) }
                return try body(db)
            }
            guard StateFile.identity(name) == identity, StateFile.identity(path + "-wal") != nil else {
                throw StateError.removed(path: path)
            }
            health.succeeded()
            return value
        } catch {
            throw noted(error)
        }
    }

    /// Reads a state that no transaction changes meanwhile, because the database has one connection. Errors are as in
    /// ``write(_:)``. `body` must not write.
    package func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            // No other connection writes. GRDB's `read` crashes after `close`.
            return try queue.unsafeRead(body)
        } catch {
            throw noted(error)
        }
    }

    private func noted(_ error: any Error) -> any Error {
        let error = (error as? DatabaseError).map { Self.map($0, path) } ?? error
        health.failed(error)
        return error
    }

    private static func map(_ error: DatabaseError, _ path: String) -> StateError {
        switch error.resultCode {
        case .SQLITE_FULL: .noSpace
        case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse(path: path)
        case .SQLITE_MISUSE: .closed
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged(path: path, reason: error.message ?? "unreadable")
        default:
            .database(
                code: error.extendedResultCode.rawValue, message: "\(error.message ?? "unknown error") (\(path))")
        }
    }
}

extension StateDatabase.Schema {
    /// Creates missing tables, and brings an older file to the present format in a single transaction.
    func prepare(_ db: Database, path: String) throws {
        let found = try format(of: db, path: path)
        guard found < migrations.count else { return }
        try db.inTransaction(.immediate) {
            for migration in migrations[found...] { try db.execute(sql: migration) }
            try db.execute(sql: "PRAGMA application_id = \(application); PRAGMA user_version = \(migrations.count)")
            return .commit
        }
    }

    /// Returns the format of the file; 0 for an empty file.
    func format(of db: Database, path: String) throws -> Int {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let owner = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let isEmpty = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_master") == 0
        guard owner == application || (isEmpty && owner == 0 && found == 0) else {
            throw StateError.foreignFile(path: path)
        }
        guard found <= migrations.count else {
            throw StateError.newerFormat(path: path, found: found, supported: migrations.count)
        }
        return found
    }
}
