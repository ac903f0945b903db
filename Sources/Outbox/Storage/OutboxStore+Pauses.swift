import GRDB
import Primitives

/// The pauses of origins, which outlive the changes that met them.
extension OutboxStore {
    /// Stores the pause, in place of an earlier one of the namespace and origin.
    package func note(_ pause: HostPause) throws(OutboxError) {
        try write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)",
                arguments: [pause.namespace, pause.origin, pause.start.milliseconds, pause.end.milliseconds])
        }
    }

    /// The pauses for ``OutboxEvent/restarted(_:pauses:)``, by their namespaces and origins. ``prune(now:)`` removes
    /// those that have ended.
    package func pauses() throws(OutboxError) -> [HostPause] {
        try read { db in
            let sql = "SELECT namespace, origin, began, ends FROM pauses ORDER BY namespace, origin"
            return try Row.fetchAll(db, sql: sql).map { row in
                HostPause(
                    namespace: row["namespace"], origin: row["origin"],
                    start: Timestamp(milliseconds: row["began"]),
                    end: Timestamp(milliseconds: row["ends"]))
            }
        }
    }
}
