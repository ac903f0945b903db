import GRDB
import Primitives
import StateDatabase

/// The definitions of subscriptions and the state of their refreshes, in `subscriptions.sqlite` of a state directory.
/// Every change of it is durable when a call returns. Calls block, so they belong on a thread that may wait for the
/// disk.
///
/// | table | a row is |
/// |---|---|
/// | `subscriptions` | a definition, and the state of its source |
/// | `members` | a wanted resource, and the state of its refreshes |
/// | `hostPauses` | a host that wants no request of a namespace before a date |
///
/// The cache decides which copies readers have. `members.hasCopy` lets a start find copies that a lost index left
/// without a holder.
package final class SubscriptionStore: Sendable {
    private static let schema = StateDatabase.Schema(
        file: "subscriptions.sqlite", application: 0x4C64_5362,
        migrations: [
            """
            CREATE TABLE subscriptions (
              id INTEGER PRIMARY KEY AUTOINCREMENT,
              namespace TEXT NOT NULL,
              name TEXT NOT NULL,
              definition TEXT NOT NULL,
              etag TEXT,
              lastModified TEXT,
              saved INTEGER NOT NULL,
              due INTEGER NOT NULL,
              earliest INTEGER,
              interval INTEGER,
              regularDue INTEGER,
              problem TEXT,
              problemSince INTEGER,
              noRoomSince INTEGER,
              isUrgent INTEGER NOT NULL,
              isRedefined INTEGER NOT NULL,
              ending TEXT,
              UNIQUE (namespace, name)
            );
            CREATE TABLE members (
              subscription INTEGER NOT NULL REFERENCES subscriptions(id) ON DELETE CASCADE,
              key TEXT NOT NULL,
              url TEXT NOT NULL,
              host TEXT NOT NULL,
              position INTEGER NOT NULL,
              hasCopy INTEGER NOT NULL,
              confirmed INTEGER,
              due INTEGER NOT NULL,
              interval INTEGER,
              earliest INTEGER,
              failures INTEGER NOT NULL,
              problem TEXT,
              problemSince INTEGER,
              isLasting INTEGER NOT NULL,
              isStopped INTEGER NOT NULL,
              PRIMARY KEY (subscription, key)
            ) WITHOUT ROWID;
            CREATE TABLE pauses (host TEXT PRIMARY KEY, until INTEGER NOT NULL, saved INTEGER NOT NULL) WITHOUT ROWID;
            """,
            "ALTER TABLE subscriptions ADD COLUMN futureDates TEXT",
            // NULL: the same as url.
            "ALTER TABLE members ADD COLUMN requestURL TEXT",
            // NULL: no removal of the namespace has begun.
            "ALTER TABLE subscriptions ADD COLUMN endingSpace INTEGER",
            // An older program knew no namespaces of pauses, so each pause goes on for all namespaces.
            """
            CREATE TABLE hostPauses (
              namespace TEXT NOT NULL,
              host TEXT NOT NULL,
              until INTEGER NOT NULL,
              saved INTEGER NOT NULL,
              PRIMARY KEY (namespace, host)
            ) WITHOUT ROWID;
            INSERT INTO hostPauses
              SELECT namespace, host, until, pauses.saved FROM pauses, (SELECT DISTINCT namespace FROM subscriptions);
            DROP TABLE pauses;
            """,
            "ALTER TABLE subscriptions ADD COLUMN leftOut INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE members ADD COLUMN isForbidden INTEGER NOT NULL DEFAULT 0",
        ])

    let database: StateDatabase

    /// Opens the database, or creates it. An existing one is checked completely, which reads all of it.
    ///
    /// - Throws: the errors of ``StateDatabase/init(directory:schema:health:check:)``, and
    ///   ``StateError/database(code:message:)`` for a definition that this program cannot read.
    package init(directory: String, health: StateHealth = StateHealth()) throws(StateError) {
        do {
            database = try StateDatabase(directory: directory, schema: Self.schema, health: health) { db in
                let rows = try Row.fetchCursor(db, sql: "SELECT name, definition FROM subscriptions")
                while let row = try rows.next() { _ = try Self.definition(row) }
            }
        } catch {
            throw StateError(error)
        }
    }

    /// Whether a directory has the database. A file that cannot be reached counts as a database.
    package static func exists(in directory: String) -> Bool { StateDatabase.exists(schema, in: directory) }

    /// Later calls throw ``StateError/closed``.
    package func close() { database.close() }

    /// Writes the log into the file, so that few rows are only in the log; see ``StateDatabase/checkpoint()``.
    package func checkpoint() throws(StateError) {
        do {
            try database.checkpoint()
        } catch {
            throw StateError(error)
        }
    }

    // MARK: - Subscriptions

    /// All subscriptions, also ending ones, in the order of their creation.
    package func all() throws(StateError) -> [SubscriptionRecord] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM subscriptions ORDER BY id").map { row in
                var record = SubscriptionRecord(
                    id: row["id"], namespace: row["namespace"], definition: try Self.definition(row),
                    source: SourceState(try Self.state(row)))
                record.source.etag = row["etag"]
                record.source.lastModified = row["lastModified"]
                record.source.futureDates = SourceState.futureDates(row["futureDates"])
                record.source.leftOut = row["leftOut"]
                record.ending = (row["ending"] as String?).flatMap(SubscriptionRecord.Ending.init)
                record.endingSpace = row["endingSpace"]
                return record
            }
        }
    }

    /// Keeps a new subscription, or a new definition of an old one, and returns its id. Its source and its members are
    /// due at `now`. The members of an old definition stay. `isNew`: a row with the name is one that a removed
    /// namespace has left, and goes with its members, because the subscription can have another owner.
    package func put(
        _ definition: Subscription, in namespace: String, isNew: Bool, now: Timestamp
    ) throws(StateError) -> Int64 {
        try write { db in
            if isNew {
                try Self.remove(db, where: "namespace = ? AND name = ?", [namespace, definition.name])
            }
            try db.execute(
                sql: """
                    INSERT INTO subscriptions (namespace, name, definition, saved, due, isUrgent, isRedefined)
                    VALUES (?1, ?2, ?3, ?4, ?4, 1, 1)
                    ON CONFLICT (namespace, name) DO UPDATE SET
                    definition = ?3, saved = ?4, due = ?4, isUrgent = 1, isRedefined = 1, endingSpace = NULL,
                    etag = NULL, lastModified = NULL, earliest = NULL, interval = NULL, regularDue = NULL
                    """,
                arguments: [namespace, definition.name, definition.json.text, now.milliseconds])
            return try Int64.fetchOne(
                db, sql: "SELECT id FROM subscriptions WHERE namespace = ? AND name = ?",
                arguments: [namespace, definition.name]) ?? 0
        }
    }

    /// Notes that a subscription ends. It is in ``all()`` until ``remove(_:)``, so that a start can go on with its end.
    package func end(_ id: Int64, _ ending: SubscriptionRecord.Ending) throws(StateError) {
        try write { db in
            try db.execute(sql: "UPDATE subscriptions SET ending = ? WHERE id = ?", arguments: [ending.rawValue, id])
        }
    }

    /// Sets ``SubscriptionRecord/endingSpace`` of all subscriptions of a namespace. A row that a removed namespace with
    /// the name has left keeps the number of that namespace.
    package func mark(_ namespace: String, endingWith space: Int) throws(StateError) {
        try write { db in
            try db.execute(
                sql: "UPDATE subscriptions SET endingSpace = ? WHERE namespace = ? AND endingSpace IS NULL",
                arguments: [space, namespace])
        }
    }

    /// Takes ``mark(_:endingWith:)`` back.
    package func unmark(_ namespace: String, endingWith space: Int) throws(StateError) {
        try write { db in
            try db.execute(
                sql: "UPDATE subscriptions SET endingSpace = NULL WHERE namespace = ? AND endingSpace = ?",
                arguments: [namespace, space])
        }
    }

    /// Removes a subscription with its members. An unknown id has no effect.
    package func remove(_ id: Int64) throws(StateError) {
        try write { try Self.remove($0, where: "id = ?", [id]) }
    }

    private static func remove(_ db: Database, where condition: String, _ arguments: StatementArguments) throws {
        let ids = "SELECT id FROM subscriptions WHERE \(condition)"
        try db.execute(sql: "DELETE FROM members WHERE subscription IN (\(ids))", arguments: arguments)
        try db.execute(sql: "DELETE FROM subscriptions WHERE \(condition)", arguments: arguments)
    }

    // MARK: - Refreshes

    /// The members of a subscription, in the order of the source, behind those that leave the generation. An unknown id
    /// has no members.
    package func members(of id: Int64) throws(StateError) -> [MemberRecord] {
        try read { db in
            let sql = "SELECT * FROM members WHERE subscription = ? ORDER BY position, key"
            return try Row.fetchAll(db, sql: sql, arguments: [id]).map { row in
                var member = RefreshMachine.Member(
                    item: WantedItem(
                        url: row["url"], key: row["key"], host: row["host"], requestURL: row["requestURL"]),
                    hasCopy: row["hasCopy"], due: Timestamp(milliseconds: row["due"]))
                member.interval = (row["interval"] as Int64?).map(Duration.milliseconds)
                member.earliest = Self.date(row, "earliest")
                member.failures = row["failures"]
                member.isStopped = row["isStopped"]
                member.problem = Self.problem(row, isLasting: row["isLasting"])
                member.problem?.isForbidden = row["isForbidden"]
                return MemberRecord(
                    member: member, position: row["position"], confirmed: Self.date(row, "confirmed"))
            }
        }
    }

    /// Keeps the state of a source, and of the members that have changed, in one transaction.
    package func save(
        _ id: Int64, _ source: SourceState, changed: [MemberRecord], removed: [String]
    ) throws(StateError) {
        try write { db in
            try db.execute(
                sql: """
                    UPDATE subscriptions SET etag = ?, lastModified = ?, saved = ?, due = ?, earliest = ?, interval = ?,
                    regularDue = ?, problem = ?, problemSince = ?, noRoomSince = ?, isUrgent = ?, isRedefined = ?,
                    futureDates = ?, leftOut = ?
                    WHERE id = ?
                    """,
                arguments: source.row + [id])
            let removal = try db.cachedStatement(sql: "DELETE FROM members WHERE subscription = ? AND key = ?")
            for key in removed { try removal.execute(arguments: [id, key]) }
            let insertion = try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            for record in changed { try insertion.execute(arguments: record.row(of: id)) }
        }
    }

    // MARK: - Support

    private static func definition(_ row: Row) throws -> Subscription {
        try Subscription(name: row["name"], JSON(parsing: row["definition"] as String))
    }

    private static func state(_ row: Row) throws -> RefreshMachine.State {
        var state = RefreshMachine.State(
            members: [], sourceDue: Timestamp(milliseconds: row["due"]), date: Timestamp(milliseconds: row["saved"]))
        state.sourceEarliest = date(row, "earliest")
        state.sourceInterval = (row["interval"] as Int64?).map(Duration.milliseconds)
        state.sourceProblem = problem(row, isLasting: false)
        state.regularDue = date(row, "regularDue")
        state.noRoomSince = date(row, "noRoomSince")
        state.isUrgent = row["isUrgent"]
        state.isRedefined = row["isRedefined"]
        return state
    }

    private static func date(_ row: Row, _ column: String) -> Timestamp? {
        (row[column] as Int64?).map(Timestamp.init(milliseconds:))
    }

    private static func problem(_ row: Row, isLasting: Bool) -> MemberProblem? {
        guard let reason = row["problem"] as String?, let since = row["problemSince"] as Int64? else { return nil }
        return MemberProblem(reason: reason, since: Timestamp(milliseconds: since), isLasting: isLasting)
    }

    func write<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do {
            return try database.write(body)
        } catch {
            throw StateError(error)
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do {
            return try database.read(body)
        } catch {
            throw StateError(error)
        }
    }
}
