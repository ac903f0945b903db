import GRDB
import Primitives

/// The choice of changes for a listing; `nil` admits every value.
package struct ChangeFilter: Hashable, Sendable {
    package var namespace: String?
    package var states: Set<ChangeState>?
    /// The key of the canonical URL.
    package var key: String?

    package init(namespace: String? = nil, states: Set<ChangeState>? = nil, key: String? = nil) {
        self.namespace = namespace
        self.states = states
        self.key = key
    }
}

package struct ChangePage: Hashable, Sendable {
    package var changes: [ChangeSummary]
    /// The last id of this page, if more changes follow.
    package var next: Change.ID?

    /// The page of a namespace without changes.
    package static let empty = ChangePage(changes: [], next: nil)
}

/// The numbers of one namespace.
package struct OutboxTotals: Hashable, Sendable {
    package var counts: [ChangeState: Int] = [:]
    /// The bytes of the changes that have not ended.
    package var pendingBytes: Int64 = 0
    package var endedBytes: Int64 = 0
    /// The date of the oldest change that has not ended; `nil`: all have ended.
    package var oldest: Timestamp?

    package init() {}
}

extension OutboxStore {
    /// `nil` when no row has the id.
    package func change(_ id: Change.ID) throws(OutboxError) -> Change? {
        try read { db in
            let row = try Row.fetchOne(db, sql: "SELECT * FROM changes WHERE id = ?", arguments: [id])
            return try row.map { try Self.full(db, $0) }
        }
    }

    /// The change of the caller's earlier request with this key in the namespace; `nil` when there is none.
    ///
    /// - Throws: ``OutboxError/keyReused(change:)``
    package func change(
        ofCaller caller: String, _ key: CallerKey, in namespace: String
    ) throws(OutboxError) -> Change? {
        try read { db in try Self.change(db, namespace, caller, key) }
    }

    /// The changes that have not ended, in their order, for ``OutboxEvent/restarted(_:pauses:)``. Changes in the state
    /// `sending` were under way when the last process ended.
    package func unended() throws(OutboxError) -> [ChangeSummary] {
        try read { db in
            let sql = "SELECT \(ChangeRow.summaryColumns) FROM changes WHERE ended IS NULL ORDER BY id"
            return try Row.fetchAll(db, sql: sql).map(ChangeRow.summary)
        }
    }

    /// The changes of a resource that the view must show over the remote body, in their order.
    package func viewed(namespace: String, key: String) throws(OutboxError) -> [Change.ID] {
        try read { db in
            let sql = "SELECT id FROM changes WHERE namespace = ? AND key = ? AND ended IS NULL ORDER BY id"
            return try Int64.fetchAll(db, sql: sql, arguments: [namespace, key])
        }
    }

    /// One page of changes, in ascending order of ids. A page stays right while changes are added.
    ///
    /// - Parameter after: the `next` of the page before; `nil` for the first page.
    package func list(_ filter: ChangeFilter, after: Change.ID? = nil, limit: Int) throws(OutboxError) -> ChangePage {
        try read { db in
            var conditions = ["id > ?"]
            var arguments: [any DatabaseValueConvertible] = [after ?? 0]
            if let namespace = filter.namespace {
                conditions.append("namespace = ?")
                arguments.append(namespace)
            }
            if let key = filter.key {
                conditions.append("key = ?")
                arguments.append(key)
            }
            if let states = filter.states {
                conditions.append("state IN (\(states.map { _ in "?" }.joined(separator: ", ")))")
                arguments += states.map(\.rawValue).sorted()
            }
            let sql = """
                SELECT \(ChangeRow.summaryColumns) FROM changes WHERE \(conditions.joined(separator: " AND "))
                ORDER BY id LIMIT ?
                """
            let rows = try Row.fetchAll(
                db, sql: sql, arguments: StatementArguments(arguments + [max(limit, 0) + 1]))
            let changes = try rows.prefix(max(limit, 0)).map(ChangeRow.summary)
            return ChangePage(changes: changes, next: rows.count > changes.count ? changes.last?.id : nil)
        }
    }

    package func totals(namespace: String) throws(OutboxError) -> OutboxTotals {
        try read { db in
            var totals = OutboxTotals()
            let sql = """
                SELECT state, COUNT(*), sum(byteCount), min(created) FROM changes WHERE namespace = ? GROUP BY state
                """
            for row in try Row.fetchAll(db, sql: sql, arguments: [namespace]) {
                guard let state = ChangeState(rawValue: row[0]) else { continue }
                totals.counts[state] = row[1]
                guard !state.isEnded else {
                    totals.endedBytes += row[2] as Int64
                    continue
                }
                totals.pendingBytes += row[2] as Int64
                let oldest = Timestamp(milliseconds: row[3])
                totals.oldest = min(totals.oldest ?? oldest, oldest)
            }
            return totals
        }
    }
}
