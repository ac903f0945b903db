import GRDB
import Primitives

/// The room of namespaces and resources.
extension OutboxStore {
    /// Throws if there is no room for a new change. Ended changes have a room of their own, and the oldest of them
    /// leave it.
    static func makeRoom(for draft: ChangeDraft, _ db: Database, _ limits: OutboxLimits, _ now: Timestamp) throws {
        let use = try use(db, draft.namespace)
        guard use.count < limits.changesPerNamespace else {
            throw OutboxError.tooManyChanges(namespace: draft.namespace, limit: limits.changesPerNamespace)
        }
        guard use.bytes + Int64(draft.byteCount) <= limits.bytesPerNamespace else {
            throw OutboxError.tooManyBytes(namespace: draft.namespace, limit: limits.bytesPerNamespace)
        }
        // A few more are left to the upkeep, so that not every insertion removes a change.
        if use.endedBytes > limits.endedBytes || use.endedCount > 2 * limits.endedChanges {
            _ = try prune(draft.namespace, db, limits, now)
        }
        guard draft.edit != .post else { return }
        let sql = """
            SELECT COUNT(*) FROM changes WHERE namespace = ? AND key = ? AND ended IS NULL AND edit != 'post'
            """
        let edits = try Int.fetchOne(db, sql: sql, arguments: [draft.namespace, draft.target.key]) ?? 0
        guard edits < limits.editsPerResource else {
            throw OutboxError.tooManyEdits(url: draft.target.canonicalURL, limit: limits.editsPerResource)
        }
    }

    /// The changes of a namespace that have not ended, and those that have.
    static func use(
        _ db: Database, _ namespace: String
    ) throws -> (count: Int, bytes: Int64, endedCount: Int, endedBytes: Int64) {
        var use = (count: 0, bytes: Int64(0), endedCount: 0, endedBytes: Int64(0))
        let sql = "SELECT state, COUNT(*), sum(byteCount) FROM changes WHERE namespace = ? GROUP BY state"
        for row in try Row.fetchAll(db, sql: sql, arguments: [namespace]) {
            if ChangeState(rawValue: row[0])?.isEnded == true {
                use.endedCount += row[1] as Int
                use.endedBytes += row[2] as Int64
            } else {
                use.count += row[1] as Int
                use.bytes += row[2] as Int64
            }
        }
        return use
    }

    /// Removes ended changes beyond the limits, and ended pauses. Returns the number of the changes.
    @discardableResult
    package func prune(now: Timestamp) throws(OutboxError) -> Int {
        try write { [limits] db in
            try db.execute(sql: "DELETE FROM pauses WHERE ends <= ?", arguments: [now.milliseconds])
            let namespaces = "SELECT DISTINCT namespace FROM changes WHERE ended IS NOT NULL"
            return try String.fetchAll(db, sql: namespaces).reduce(0) { try $0 + Self.prune($1, db, limits, now) }
        }
    }

    private static func prune(
        _ namespace: String, _ db: Database, _ limits: OutboxLimits, _ now: Timestamp
    ) throws -> Int {
        var old: [Int64] = []
        var (count, bytes) = (0, Int64(0))
        let sql = """
            SELECT id, byteCount, ended FROM changes WHERE namespace = ? AND ended IS NOT NULL
            ORDER BY ended DESC, id DESC
            """
        for row in try Row.fetchAll(db, sql: sql, arguments: [namespace]) {
            count += 1
            bytes += row[1] as Int64
            let age = now - Timestamp(milliseconds: row[2])
            if count > limits.endedChanges || bytes > limits.endedBytes || age > limits.endedAge { old.append(row[0]) }
        }
        for id in old { try db.execute(sql: "DELETE FROM changes WHERE id = ?", arguments: [id]) }
        return old.count
    }
}
