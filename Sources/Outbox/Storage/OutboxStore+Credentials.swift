import GRDB
import Primitives

/// Secrets for requests. Only the sender reads their values.
extension OutboxStore {
    /// Stores a credential, or replaces it. The changes that it blocked become `pending` in the same transaction, so
    /// that a kill leaves none of them blocked. The machine learns of it by
    /// ``OutboxEvent/credentialChanged(namespace:name:)``.
    ///
    /// - Throws: ``OutboxError/invalid(_:)`` for a malformed field.
    package func setCredential(
        _ credential: Credential, namespace: String, name: String
    ) throws(OutboxError) {
        for field in credential.fields where !field.isWellFormed { throw .invalid(.malformedField(field.name)) }
        try write { db in
            let origins = JSON.array(credential.origins.sorted().map(JSON.string)).text
            try db.execute(
                sql: "INSERT OR REPLACE INTO credentials VALUES (?, ?, ?, ?)",
                arguments: [namespace, name, origins, ChangeRow.text(of: credential.fields)])
            try db.execute(
                sql: """
                    UPDATE changes SET state = 'pending', nextAttempt = NULL
                    WHERE namespace = ? AND credential = ? AND state = 'blocked'
                    """,
                arguments: [namespace, name])
        }
    }

    /// The credential, for the sender only. `nil` when there is none with this name.
    package func credential(namespace: String, name: String) throws(OutboxError) -> Credential? {
        try read { db in
            let sql = "SELECT origins, fields FROM credentials WHERE namespace = ? AND name = ?"
            return try Row.fetchOne(db, sql: sql, arguments: [namespace, name]).map { row in
                let origins = try JSON(parsing: row["origins"] as String).arrayValue?.compactMap(\.stringValue) ?? []
                return Credential(origins: Set(origins), fields: try ChangeRow.fields(row["fields"]))
            }
        }
    }

    /// The names without any value, for callers.
    package func credentialNames(namespace: String) throws(OutboxError) -> [String] {
        try read { db in
            let sql = "SELECT name FROM credentials WHERE namespace = ? ORDER BY name"
            return try String.fetchAll(db, sql: sql, arguments: [namespace])
        }
    }

    /// - Throws: ``OutboxError/noCredential(_:)``
    package func removeCredential(namespace: String, name: String) throws(OutboxError) {
        try write { db in
            let sql = "DELETE FROM credentials WHERE namespace = ? AND name = ?"
            try db.execute(sql: sql, arguments: [namespace, name])
            guard db.changesCount > 0 else { throw OutboxError.noCredential(name) }
        }
    }
}
