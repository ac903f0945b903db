import GRDB
import Primitives
import StateDatabase

extension SubscriptionStore {
    /// The dates before which hosts want no request, and when they were saved; `nil` without a pause.
    package func pauses() throws(StateError) -> (ends: [HostPacer.PausedHost: Timestamp], saved: Timestamp)? {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT * FROM hostPauses")
            let ends = rows.map { row in
                (HostPacer.PausedHost(row["host"], in: row["namespace"]), Timestamp(milliseconds: row["until"]))
            }
            return rows.first.map {
                (Dictionary(uniqueKeysWithValues: ends), Timestamp(milliseconds: $0["saved"]))
            }
        }
    }

    /// Replaces all pauses. `now`: the date to which a later start compares its clock.
    package func savePauses(_ pauses: [HostPacer.PausedHost: Timestamp], now: Timestamp) throws(StateError) {
        try write { db in
            try db.execute(sql: "DELETE FROM hostPauses")
            let insertion = try db.cachedStatement(sql: "INSERT INTO hostPauses VALUES (?, ?, ?, ?)")
            for (paused, end) in pauses {
                try insertion.execute(
                    arguments: [paused.namespace, paused.host, end.milliseconds, now.milliseconds])
            }
        }
    }
}
