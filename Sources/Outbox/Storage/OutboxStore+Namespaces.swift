import GRDB

/// The removal of namespaces. The cache knows the namespaces, and no transaction spans both. So the outbox notes a
/// removal before the cache begins it, and after a kill the note tells a removed namespace from one that the cache has
/// lost, which keeps its changes.
extension OutboxStore {
    /// Notes that a namespace is about to be removed.
    package func noteRemoval(of namespace: String) throws(OutboxError) {
        try write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO removals VALUES (?)", arguments: [namespace])
        }
    }

    /// Takes back the note about a namespace that has not been removed.
    package func forgetRemoval(of namespace: String) throws(OutboxError) {
        try write { db in
            try db.execute(sql: "DELETE FROM removals WHERE namespace = ?", arguments: [namespace])
        }
    }

    /// The namespaces with a note.
    package func removals() throws(OutboxError) -> Set<String> {
        try read { db in try String.fetchSet(db, sql: "SELECT namespace FROM removals") }
    }

    /// Removes all changes, credentials and pauses of a namespace, with the note of its removal.
    package func discard(namespace: String) throws(OutboxError) {
        try write { db in
            for table in ["changes", "credentials", "pauses", "removals"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE namespace = ?", arguments: [namespace])
            }
        }
    }
}
