import Foundation
import GRDB
import GRDBSQLite
import Primitives

/// The database of the outbox, `outbox.sqlite` in a directory. Every change of it is durable when a call returns.
///
///     let store = try OutboxStore(directory: "/var/lib/larder")
///     let insertion = try store.insert(draft, now: clock.now())
///     for action in machine.step(.accepted(insertion.change.summary), now: clock.now(), random: &random) { … }
///
/// The journal is a write-ahead log with `synchronous=FULL`, because a commit then needs one `fsync`, where a rollback
/// journal needs three; a change has about four commits. The lock is exclusive: no second process can send the same
/// changes, and SQLite keeps the index of the log in memory, not in a mapped file that a full disk could break. One
/// connection reads and writes. Calls block, so they belong on a thread that may wait for the disk.
package final class OutboxStore: Sendable {
    package let path: String
    let limits: OutboxLimits
    let database: DatabaseQueue

    /// Opens the file, or creates it. An existing file is checked completely, which reads all of it.
    ///
    /// - Throws: ``OutboxError/damaged(path:reason:)``, ``OutboxError/foreignFile(path:)``,
    ///   ``OutboxError/newerFormat(path:found:supported:)`` and ``OutboxError/inUse(path:)``, each without a change of
    ///   the file.
    package init(directory: String, limits: OutboxLimits = OutboxLimits()) throws(OutboxError) {
        let (path, isNew) = try OutboxFile.prepare(in: directory)
        self.path = path
        self.limits = limits
        var configuration = Configuration()
        configuration.label = "larder.outbox"
        configuration.busyMode = .immediateError
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            // A foreign file is not converted to a log, so the check comes first.
            _ = try OutboxSchema.check(db, path: path)
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
            database = try DatabaseQueue(path: path, configuration: configuration)
            try database.writeWithoutTransaction { db in
                let report = try String.fetchOne(db, sql: "PRAGMA quick_check(1)") ?? "no report"
                guard report == "ok" else { throw OutboxError.damaged(path: path, reason: report) }
                try OutboxSchema.prepare(db, path: path)
                // A row of an unknown form must end the opening, not the sending.
                let cursor = try Row.fetchCursor(db, sql: "SELECT * FROM changes WHERE ended IS NULL")
                while let row = try cursor.next() { _ = try ChangeRow.summary(row) }
            }
        } catch {
            let error = Self.map(error, path)
            if isNew, error == .noSpace { OutboxFile.remove(path) }
            throw error
        }
    }

    /// Whether a directory has an outbox. A file that cannot be reached counts as missing.
    package static func exists(in directory: String) -> Bool { OutboxFile.exists(in: directory) }

    /// Writes the log into the file and closes the connection. Later calls throw ``OutboxError/closed``.
    package func close() {
        try? database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try? database.close()
    }

    // MARK: - Changes

    package struct Insertion: Sendable {
        package let change: Change
        /// `false`: the caller has repeated a request, and `change` is the change of the first one.
        package let isNew: Bool
    }

    /// Keeps a new change. It is durable when the call returns; after an error, no part of it is kept.
    ///
    /// - Throws: the errors of ``ChangeDraft/check(_:)``, ``OutboxError/keyReused(change:)``,
    ///   ``OutboxError/tooManyChanges(namespace:limit:)``, ``OutboxError/tooManyBytes(namespace:limit:)`` and
    ///   ``OutboxError/noSpace``.
    @discardableResult
    package func insert(_ draft: ChangeDraft, now: Timestamp) throws(OutboxError) -> Insertion {
        try draft.check(limits)
        return try write { [limits] db in
            if let earlier = try Self.change(db, draft.caller, draft.callerKey) {
                return Insertion(change: earlier, isNew: false)
            }
            let use = try Self.use(db, draft.namespace)
            guard use.count < limits.changesPerNamespace else {
                throw OutboxError.tooManyChanges(namespace: draft.namespace, limit: limits.changesPerNamespace)
            }
            guard use.bytes + Int64(draft.byteCount) <= limits.bytesPerNamespace else {
                throw OutboxError.tooManyBytes(namespace: draft.namespace, limit: limits.bytesPerNamespace)
            }
            let columns = ChangeRow.columns(of: Change(id: 0, draft: draft, created: now))
            let names = columns.map(\.name).joined(separator: ", ")
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            let statement = try db.cachedStatement(sql: "INSERT INTO changes (\(names)) VALUES (\(marks))")
            try statement.execute(arguments: StatementArguments(columns.map(\.value)))
            let change = Change(id: db.lastInsertedRowID, draft: draft, created: now)
            try Self.writeBodies(db, change, except: [:])
            return Insertion(change: change, isNew: true)
        }
    }

    /// Writes the present state of changes in one transaction.
    ///
    /// - Parameter now: the date of the end of changes that have ended.
    /// - Throws: ``OutboxError/noChange(_:)`` when a row is gone; then no row is written.
    package func update(_ changes: [Change], now: Timestamp) throws(OutboxError) {
        try write { db in
            for change in changes {
                let digests = "SELECT baseDigest, oursDigest, theirsDigest, edit FROM changes WHERE id = ?"
                guard let before = try Row.fetchOne(db, sql: digests, arguments: [change.id]) else {
                    throw OutboxError.noChange(change.id)
                }
                var columns = ChangeRow.columns(of: change)
                columns.append(("rewrittenBase", change.rewrittenBase.map { Data($0.bytes) }))
                let sets = columns.map { "\($0.name) = ?" }.joined(separator: ", ")
                let sql = "UPDATE changes SET \(sets), ended = coalesce(ended, ?) WHERE id = ?"
                let statement = try db.cachedStatement(sql: sql)
                let ended = change.state.isEnded ? now.milliseconds : nil
                try statement.execute(arguments: StatementArguments(columns.map(\.value) + [ended, change.id]))
                let same = ["base", "ours", "theirs"].map { role in
                    let after = columns.first { $0.name == role + "Digest" }?.value as? Data
                    return (role, after != nil && before[role + "Digest"] as Data? == after)
                }
                try Self.writeBodies(db, change, except: Dictionary(uniqueKeysWithValues: same))
            }
        }
    }

    /// Stores ``Change/rewrittenBase`` in the later changes that were made on the sent body.
    package func note(_ rewrite: RewriteNote) throws(OutboxError) {
        try write { db in
            try db.execute(
                sql: """
                    UPDATE changes SET rewrittenBase = ?
                    WHERE namespace = ? AND key = ? AND id > ? AND baseDigest = ? AND ended IS NULL
                    """,
                arguments: [
                    Data(rewrite.stored.bytes), rewrite.namespace, rewrite.key, rewrite.after, Data(rewrite.sent.bytes),
                ])
        }
    }

    /// Removes all changes and credentials of a namespace, sent or not.
    package func discard(namespace: String) throws(OutboxError) {
        try write { db in
            try db.execute(sql: "DELETE FROM changes WHERE namespace = ?", arguments: [namespace])
            try db.execute(sql: "DELETE FROM credentials WHERE namespace = ?", arguments: [namespace])
        }
    }

    static func change(_ db: Database, _ caller: String, _ key: CallerKey?) throws -> Change? {
        guard let key else { return nil }
        let sql = "SELECT * FROM changes WHERE caller = ? AND callerKey = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: [caller, key.text]) else { return nil }
        let change = try full(db, row)
        guard change.draft.callerKey == key else { throw OutboxError.keyReused(change: change.id) }
        return change
    }

    /// The changes of a namespace that have not ended.
    private static func use(_ db: Database, _ namespace: String) throws -> (count: Int, bytes: Int64) {
        let ended = ChangeState.allCases.filter(\.isEnded).map { "'\($0.rawValue)'" }.joined(separator: ", ")
        let sql = """
            SELECT COUNT(*), coalesce(sum(byteCount), 0) FROM changes WHERE namespace = ? AND state NOT IN (\(ended))
            """
        let row = try Row.fetchOne(db, sql: sql, arguments: [namespace])!
        return (row[0], row[1])
    }

    /// Writes the bodies of a change; `except` names the bodies that are the same as before.
    private static func writeBodies(_ db: Database, _ change: Change, except: [String: Bool]) throws {
        let bodies = ChangeRow.bodies(of: change)
        for role in ["base", "ours", "patch", "theirs"] {
            if let body = bodies[role] {
                // A patch never changes: a decision removes it at most.
                let isKept = role == "patch" ? !except.isEmpty : except[role] == true
                if isKept { continue }
                let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO bodies VALUES (?, ?, ?)")
                try statement.execute(arguments: [change.id, role, Data(body)])
            } else {
                let statement = try db.cachedStatement(sql: "DELETE FROM bodies WHERE change = ? AND role = ?")
                try statement.execute(arguments: [change.id, role])
            }
        }
    }

    static func full(_ db: Database, _ row: Row) throws -> Change {
        var bodies: [String: [UInt8]] = [:]
        let sql = "SELECT role, body FROM bodies WHERE change = ?"
        for body in try Row.fetchAll(db, sql: sql, arguments: [row["id"] as Int64]) {
            bodies[body["role"]] = Array(body["body"] as Data)
        }
        return try ChangeRow.change(row, bodies: bodies)
    }
}
