import Foundation
import GRDB
import Primitives
import StateDatabase

/// The changes of the outbox, in `outbox.sqlite` of a state directory. Every write is durable when a call returns.
/// Calls block, so they belong on a thread that may wait for the disk.
///
///     let store = try OutboxStore(directory: "/var/lib/larder")
///     let insertion = try store.insert(draft, now: clock.now())
///     for action in machine.step(.accepted(insertion.change.summary), now: clock.now(), random: &random) { … }
package final class OutboxStore: Sendable {
    let limits: OutboxLimits
    let database: StateDatabase

    package var path: String { database.path }

    /// Opens the file, or creates it. An existing file is checked completely, which reads all of it.
    ///
    /// - Throws: ``OutboxError/state(_:)``, without a change of the file.
    package init(
        directory: String, limits: OutboxLimits = OutboxLimits(), health: StateHealth = StateHealth()
    ) throws(OutboxError) {
        self.limits = limits
        do {
            database = try StateDatabase(directory: directory, schema: OutboxSchema.schema, health: health) { db in
                // A row of an unknown form must end the opening, not the sending.
                let sql = "SELECT \(ChangeRow.summaryColumns) FROM changes WHERE ended IS NULL"
                let cursor = try Row.fetchCursor(db, sql: sql)
                while let row = try cursor.next() { _ = try ChangeRow.summary(row) }
            }
        } catch {
            throw OutboxError(error)
        }
    }

    /// Whether a directory has an outbox. A file that cannot be reached counts as an outbox.
    package static func exists(in directory: String) -> Bool {
        StateDatabase.exists(OutboxSchema.schema, in: directory)
    }

    /// Writes the log into the file and closes the connection. Later calls throw ``StateError/closed``.
    package func close() { database.close() }

    /// Writes the log into the file, so that few rows are only in the log; see ``StateDatabase/checkpoint()``.
    package func checkpoint() throws(OutboxError) {
        do {
            try database.checkpoint()
        } catch {
            throw OutboxError(error)
        }
    }

    func write<Value>(_ body: (Database) throws -> Value) throws(OutboxError) -> Value {
        do {
            return try database.write(body)
        } catch {
            throw OutboxError(error)
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(OutboxError) -> Value {
        do {
            return try database.read(body)
        } catch {
            throw OutboxError(error)
        }
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
    ///   ``OutboxError/tooManyChanges(namespace:limit:)``, ``OutboxError/tooManyBytes(namespace:limit:)``,
    ///   ``OutboxError/tooManyEdits(url:limit:)`` and ``StateError/noSpace``.
    @discardableResult
    package func insert(_ draft: ChangeDraft, now: Timestamp) throws(OutboxError) -> Insertion {
        try draft.check(limits)
        return try write { [limits] db in
            if let earlier = try Self.change(db, draft.namespace, draft.caller, draft.callerKey) {
                return Insertion(change: earlier, isNew: false)
            }
            try Self.makeRoom(for: draft, db, limits, now)
            let columns = ChangeRow.columns(of: Change(id: 0, draft: draft, created: now))
            let names = columns.map(\.name).joined(separator: ", ")
            let marks = columns.map { _ in "?" }.joined(separator: ", ")
            let statement = try db.cachedStatement(sql: "INSERT INTO changes (\(names)) VALUES (\(marks))")
            try statement.execute(arguments: StatementArguments(columns.map(\.value)))
            let change = Change(id: db.lastInsertedRowID, draft: draft, created: now)
            try Self.writeBodies(db, change, except: nil)
            return Insertion(change: change, isNew: true)
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

    static func change(
        _ db: Database, _ namespace: String, _ caller: String, _ key: CallerKey?
    ) throws -> Change? {
        guard let key else { return nil }
        let sql = "SELECT * FROM changes WHERE namespace = ? AND caller = ? AND callerKey = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: [namespace, caller, key.text]) else { return nil }
        let change = try full(db, row)
        guard change.draft.callerKey == key else { throw OutboxError.keyReused(change: change.id) }
        return change
    }

    /// Writes the bodies of a change; `except` names the bodies that are the same as before. `nil`: there are none yet.
    static func writeBodies(_ db: Database, _ change: Change, except kept: Set<String>?) throws {
        let bodies = ChangeRow.bodies(of: change)
        for role in ["base", "ours", "patch", "theirs"] {
            if let body = bodies[role] {
                // A patch never changes: a decision removes it at most.
                if let kept, role == "patch" || kept.contains(role) { continue }
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
