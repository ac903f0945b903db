import GRDB
import Primitives

/// Secrets for requests. Only the sender reads their values.
extension OutboxStore {
    /// Stores a credential, or replaces it. The changes that it blocked become `pending` in the same transaction, so
    /// that a kill leaves none of them blocked. The machine learns of it by
    /// ``OutboxEvent/credentialChanged(namespace:name:)``.
    ///
    /// - Throws: ``OutboxError/invalid(_:)`` for a malformed field, and
    ///   ``OutboxError/tooManyCredentials(namespace:limit:)`` for a new one.
    package func setCredential(
        _ credential: Credential, namespace: String, name: String
    ) throws(OutboxError) {
        for field in credential.fields where !field.isWellFormed { throw .invalid(.malformedField(field.name)) }
        try write { [limits] db in
            let others = "SELECT COUNT(*) FROM credentials WHERE namespace = ? AND name != ?"
            let count = try Int.fetchOne(db, sql: others, arguments: [namespace, name]) ?? 0
            guard count < limits.credentialsPerNamespace else {
                throw OutboxError.tooManyCredentials(namespace: namespace, limit: limits.credentialsPerNamespace)
            }
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
                Credential(origins: try Self.origins(row["origins"]), fields: try ChangeRow.fields(row["fields"]))
            }
        }
    }

    /// The names and origins, for callers; sorted by name.
    package func credentials(namespace: String) throws(OutboxError) -> [(name: String, origins: Set<String>)] {
        try read { db in
            let sql = "SELECT name, origins FROM credentials WHERE namespace = ? ORDER BY name"
            return try Row.fetchAll(db, sql: sql, arguments: [namespace]).map { row in
                (row["name"], try Self.origins(row["origins"]))
            }
        }
    }

    private static func origins(_ text: String) throws -> Set<String> {
        Set(try JSON(parsing: text).arrayValue?.compactMap(\.stringValue) ?? [])
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
