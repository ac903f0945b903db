import GRDB

/// The writer's copy of the tables `totals` and `counters`, saved in each transaction, so entries are never counted.
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
    private var counters: [String: Int64] { ["sequence": sequence, "smallBytes": smallBytes] }
    /// The content of the tables.
    private var saved: (kinds: [Entry.Kind: Kind], counters: [String: Int64]) = ([:], [:])

    init() {}

    init(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT name, value FROM counters") {
            saved.counters[row[0]] = row[1]
        }
        smallBytes = saved.counters["smallBytes"] ?? 0
        // The number of an existing entry is never used again, even if the counter was tampered with.
        sequence = max(saved.counters["sequence"] ?? 0, try Int64.fetchOne(db, sql: "SELECT max(id) FROM entries") ?? 0)
        for row in try Row.fetchAll(db, sql: "SELECT kind, entries, bodyBytes, diskBytes, pinnedBytes FROM totals") {
            guard let kind = Entry.Kind(code: row[0]) else { continue }
            kinds[kind] = Kind(entries: row[1], bodyBytes: row[2], diskBytes: row[3], pinnedBytes: row[4])
        }
        saved.kinds = kinds
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
        return sequence
    }

    mutating func moved(cost: Int64, from old: EvictionQueue, to new: EvictionQueue) {
        if old != new { smallBytes += new == .small ? cost : -cost }
    }

    mutating func add(_ row: EntryRow) { count(row, 1) }
    mutating func remove(_ row: EntryRow) { count(row, -1) }

    private mutating func count(_ row: EntryRow, _ sign: Int64) {
        var kind = kinds[row.entry.kind] ?? Kind()
        kind.entries += sign
        kind.bodyBytes += sign * row.entry.contentLength
        kind.diskBytes += sign * row.cost
        if row.entry.pinned {
            kind.pinnedBytes += sign * row.cost
        } else if row.place.queue == .small {
            smallBytes += sign * row.cost
        }
        kinds[row.entry.kind] = kind
    }

    mutating func save(_ db: Database) throws {
        for (kind, total) in kinds where total != saved.kinds[kind] {
            try db.cachedStatement(sql: "REPLACE INTO totals VALUES (?, ?, ?, ?, ?)").execute(
                arguments: [kind.code, total.entries, total.bodyBytes, total.diskBytes, total.pinnedBytes])
        }
        for (name, value) in counters where value != saved.counters[name] {
            try db.cachedStatement(sql: "REPLACE INTO counters VALUES (?, ?)").execute(arguments: [name, value])
        }
        saved = (kinds, counters)
    }
}
