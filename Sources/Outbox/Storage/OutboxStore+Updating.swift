import Foundation
import GRDB
import Primitives

/// The new states of changes.
extension OutboxStore {
    /// The columns on which the body that readers see depends.
    private static let viewColumns = ["edit", "method", "base", "baseDigest", "oursDigest", "rewrittenBase"]

    /// Writes the present state of changes in one transaction.
    ///
    /// The origin's version in a conflict makes a change longer. In a namespace without room for it, the version keeps
    /// its digest and loses its body.
    ///
    /// - Parameters:
    ///   - changes: of one namespace.
    ///   - now: the date of the end of changes that have ended.
    /// - Returns: the changes that give readers another body than before: those with another edit or base, and those
    ///   that have ended.
    /// - Throws: ``OutboxError/noChange(_:)`` when a row is gone, and ``OutboxError/tooManyBytes(namespace:limit:)``
    ///   when a decision needs more room than there is; then no row is written.
    @discardableResult
    package func update(_ changes: [Change], now: Timestamp) throws(OutboxError) -> Set<Change.ID> {
        try write { [limits] db in
            var touched: Set<Change.ID> = []
            var growth = Growth(total: 0, draft: 0)
            for change in changes {
                let (isTouched, more) = try Self.update(change, db, now)
                if isTouched { touched.insert(change.id) }
                growth = Growth(total: growth.total + more.total, draft: growth.draft + more.draft)
            }
            if growth.total > 0 { try Self.keepLimit(changes, growth, db, limits) }
            return touched
        }
    }

    /// The additional bytes that count for a namespace.
    private struct Growth {
        let total: Int
        /// Without the origin's versions. Only decisions make drafts longer.
        let draft: Int
    }

    /// Also returns whether the change gives readers another body than before.
    private static func update(
        _ change: Change, _ db: Database, _ now: Timestamp
    ) throws -> (isTouched: Bool, growth: Growth) {
        let names = (["theirsDigest", "theirsTag", "byteCount"] + viewColumns).joined(separator: ", ")
        let sql = "SELECT \(names) FROM changes WHERE id = ?"
        guard let before = try Row.fetchOne(db, sql: sql, arguments: [change.id]) else {
            throw OutboxError.noChange(change.id)
        }
        let lengths = try Dictionary(
            uniqueKeysWithValues: Row.fetchAll(
                db, sql: "SELECT role, length(body) FROM bodies WHERE change = ?", arguments: [change.id]
            ).map { ($0[0] as String, $0[1] as Int) })
        var columns = ChangeRow.columns(of: change)
        columns.append(("rewrittenBase", change.rewrittenBase.map { Data($0.bytes) }))
        let sets = columns.map { "\($0.name) = ?" }.joined(separator: ", ")
        let statement = try db.cachedStatement(
            sql: "UPDATE changes SET \(sets), ended = coalesce(ended, ?) WHERE id = ?")
        let ended = change.state.isEnded ? now.milliseconds : nil
        try statement.execute(arguments: StatementArguments(columns.map(\.value) + [ended, change.id]))
        let values = Dictionary(uniqueKeysWithValues: columns.map { ($0.name, $0.value?.databaseValue ?? .null) })
        func isSame(_ column: String) -> Bool { before[column] as DatabaseValue == values[column] }
        // A version may have its digest without its body.
        let kept = ["base", "ours", "theirs"].filter { lengths[$0] != nil && isSame($0 + "Digest") }
        try writeBodies(db, change, except: Set(kept))
        let bytes: Int = before["byteCount"]
        let theirs = (lengths["theirs"] ?? 0) + ((before["theirsTag"] as String?)?.utf8.count ?? 0)
        let isEnded = change.state.isEnded
        let growth = Growth(
            total: (isEnded ? 0 : change.byteCount) - bytes,
            draft: (isEnded ? 0 : change.draft.byteCount) - (bytes - theirs))
        return (isEnded || !viewColumns.allSatisfy(isSame), growth)
    }

    /// Removes the bodies of the origin's versions if the changes have made their namespace exceed its limit.
    private static func keepLimit(
        _ changes: [Change], _ growth: Growth, _ db: Database, _ limits: OutboxLimits
    ) throws {
        guard let namespace = changes.first?.draft.namespace else { return }
        var excess = try use(db, namespace).bytes - limits.bytesPerNamespace
        for change in changes where excess > 0 && !change.state.isEnded {
            guard let body = change.theirs?.body else { continue }
            try db.execute(sql: "DELETE FROM bodies WHERE change = ? AND role = 'theirs'", arguments: [change.id])
            try db.execute(
                sql: "UPDATE changes SET byteCount = byteCount - ? WHERE id = ?", arguments: [body.count, change.id])
            excess -= Int64(body.count)
        }
        guard excess <= 0 || growth.draft <= 0 else {
            throw OutboxError.tooManyBytes(namespace: namespace, limit: limits.bytesPerNamespace)
        }
    }
}
