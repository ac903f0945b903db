import GRDB

/// The writer's own copy of the tables `totals` and `counters`. It changes along with each row and is written at the
/// end of the transaction, so no entries ever have to be counted.
package struct Totals: Sendable {
    struct Kind: Sendable, Equatable {
        var entries: Int64 = 0
        var bodyBytes: Int64 = 0
        var diskBytes: Int64 = 0
        /// The part of `diskBytes` that must not be evicted.
        var pinnedBytes: Int64 = 0
    }

    private(set) var kinds: [Entry.Kind: Kind] = [:]
    private(set) var sequence: Int64 = 0
    /// The bytes of the entries that may be evicted and are in ``EvictionQueue/small``.
    private(set) var smallBytes: Int64 = 0
    private var changed: Set<Entry.Kind> = []
    private var changedCounters: Set<Counter> = []

    private enum Counter: String {
        case sequence, smallBytes
    }

    init() {}

    init(_ db: Database) throws {
        func counter(_ counter: Counter) throws -> Int64 {
            let sql = "SELECT value FROM counters WHERE name = ?"
            return try Int64.fetchOne(db, sql: sql, arguments: [counter.rawValue]) ?? 0
        }
        sequence = try counter(.sequence)
        smallBytes = try counter(.smallBytes)
        // The number of an existing entry is never used again, even if the counter was tampered with.
        sequence = max(sequence, try Int64.fetchOne(db, sql: "SELECT max(id) FROM entries") ?? 0)
        for row in try Row.fetchAll(db, sql: "SELECT kind, entries, bodyBytes, diskBytes, pinnedBytes FROM totals") {
            guard let kind = Entry.Kind(code: row[0]) else { continue }
            kinds[kind] = Kind(entries: row[1], bodyBytes: row[2], diskBytes: row[3], pinnedBytes: row[4])
        }
    }

    package var diskBytes: Int64 { sum(\.diskBytes) }
    var pinnedBytes: Int64 { sum(\.pinnedBytes) }
    private func sum(_ field: KeyPath<Kind, Int64>) -> Int64 { kinds.values.reduce(0) { $0 + $1[keyPath: field] } }

    /// The input of the eviction policy: without the bytes of pinned entries, but `entries` counts them, too.
    var queues: QueueTotals {
        QueueTotals(entries: Int(sum(\.entries)), bytes: diskBytes - pinnedBytes, smallBytes: smallBytes)
    }

    var snapshot: CacheTotals {
        CacheTotals(
            entries: sum(\.entries), bodyBytes: sum(\.bodyBytes), diskBytes: diskBytes,
            entriesByKind: kinds.mapValues(\.entries))
    }

    package mutating func nextSequence() -> Int64 {
        sequence += 1
        changedCounters.insert(.sequence)
        return sequence
    }

    mutating func moved(cost: Int64, from old: EvictionQueue, to new: EvictionQueue) {
        guard old != new else { return }
        smallBytes += new == .small ? cost : -cost
        changedCounters.insert(.smallBytes)
    }

    mutating func add(_ row: EntryRow) { count(row, 1) }
    mutating func remove(_ row: EntryRow) { count(row, -1) }

    private mutating func count(_ row: EntryRow, _ sign: Int64) {
        changed.insert(row.entry.kind)
        var kind = kinds[row.entry.kind] ?? Kind()
        kind.entries += sign
        kind.bodyBytes += sign * row.entry.contentLength
        kind.diskBytes += sign * row.cost
        if row.entry.pinned {
            kind.pinnedBytes += sign * row.cost
        } else if row.place.queue == .small {
            smallBytes += sign * row.cost
            changedCounters.insert(.smallBytes)
        }
        kinds[row.entry.kind] = kind
    }

    mutating func save(_ db: Database) throws {
        for kind in changed {
            let total = kinds[kind] ?? Kind()
            try db.cachedStatement(sql: "REPLACE INTO totals VALUES (?, ?, ?, ?, ?)").execute(
                arguments: [kind.code, total.entries, total.bodyBytes, total.diskBytes, total.pinnedBytes])
        }
        for counter in changedCounters {
            let value = counter == .sequence ? sequence : smallBytes
            try db.cachedStatement(sql: "REPLACE INTO counters VALUES (?, ?)").execute(
                arguments: [counter.rawValue, value])
        }
        (changed, changedCounters) = ([], [])
    }
}
