import GRDB

/// The discards of namespaces' changes and credentials. The cache knows the namespaces, and no transaction spans both.
/// So the outbox notes a discard before the cache begins the removal, the new version or the creation. After a kill the
/// note tells a removed namespace from one that the cache has lost, which keeps its changes. The table of the notes is
/// called `removals`, because older formats have notes of removals only.
extension OutboxStore {
    /// Notes that the changes and credentials of a namespace are about to be discarded.
    package func noteDiscard(of namespace: String, for cause: DiscardCause = .removal) throws(OutboxError) {
        let version: String? = if case .newVersion(let version) = cause { version ?? "" } else { nil }
        try write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO removals (namespace, version, isCreation) VALUES (?, ?, ?)",
                arguments: [namespace, version, cause == .creation])
        }
    }

    /// Takes back the note about a namespace that has not been removed, begun anew or created.
    package func forgetDiscard(of namespace: String) throws(OutboxError) {
        try write { db in
            try db.execute(sql: "DELETE FROM removals WHERE namespace = ?", arguments: [namespace])
        }
    }

    /// The namespaces with a note.
    package func notedDiscards() throws(OutboxError) -> [String: DiscardCause] {
        try read { db in
            var causes: [String: DiscardCause] = [:]
            let rows = try Row.fetchCursor(db, sql: "SELECT namespace, version, isCreation FROM removals")
            while let row = try rows.next() { causes[row["namespace"]] = Self.cause(row) }
            return causes
        }
    }

    private static func cause(_ row: Row) -> DiscardCause {
        if row["isCreation"] { return .creation }
        guard let version = row["version"] as String? else { return .removal }
        return .newVersion(version.isEmpty ? nil : version)
    }

    /// Removes all changes, credentials and pauses of a namespace, with the note of the discard. Returns whether there
    /// were changes or credentials.
    @discardableResult
    package func discard(namespace: String) throws(OutboxError) -> Bool {
        try write { db in
            var hasDiscarded = false
            for table in ["changes", "credentials", "pauses", "removals"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE namespace = ?", arguments: [namespace])
                if table == "changes" || table == "credentials", db.changesCount > 0 { hasDiscarded = true }
            }
            return hasDiscarded
        }
    }
}
