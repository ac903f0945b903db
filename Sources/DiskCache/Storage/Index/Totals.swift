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
    /// The content of the tables.
    private var saved: (kinds: [Entry.Kind: Kind], sequence: Int64, smallBytes: Int64) = ([:], 0, 0)

    init() {}

    init(_ db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT name, value FROM counters") {
            if row[0] == "sequence" { saved.sequence = row[1] } else { saved.smallBytes = row[1] }
        }
        smallBytes = saved.smallBytes
        // The number of an existing entry is never used again, even if the counter was tampered with.
        sequence = max(saved.sequence, try Int64.fetchOne(db, sql: "SELECT max(id) FROM entries") ?? 0)
        for row in try Row.fetchAll(db, sql: "SELECT kind, entries, bodyBytes, diskBytes, pinnedBytes FROM totals") {
            guard let kind = Entry.Kind(code: row[0]) else { continue }
            kinds[kind] = Kind(entries: row[1], bodyBytes: row[2], diskBytes: row[3], pinnedBytes: row[4])
        }
        saved.kinds = kinds
    }

    package var diskBytes: Int64 { all.diskBytes }
    var pinnedBytes: Int64 { all.pinnedBytes }

    /// The sums over all kinds.
    private var all: Kind {
        kinds.values.reduce(into: Kind()) { sum, kind in
            sum.entries += kind.entries
            sum.bodyBytes += kind.bodyBytes
            sum.diskBytes += kind.diskBytes
            sum.pinnedBytes += kind.pinnedBytes
        }
    }

    /// The totals for the eviction policy. The bytes leave out pinned entries; the number of entries includes them.
    var queues: QueueTotals {
        let all = all
        return QueueTotals(entries: Int(all.entries), bytes: all.diskBytes - all.pinnedBytes, smallBytes: smallBytes)
    }

    var snapshot: CacheTotals {
        let all = all
        return CacheTotals(
            entries: all.entries, bodyBytes: all.bodyBytes, diskBytes: all.diskBytes,
            entriesByKind: kinds.mapValues { $0.entries })
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
        let counters = [("sequence", sequence, saved.sequence), ("smallBytes", smallBytes, saved.smallBytes)]
        for (name, value, old) in counters where value != old {
            try db.cachedStatement(sql: "REPLACE INTO counters VALUES (?, ?)").execute(arguments: [name, value])
        }
        saved = (kinds, sequence, smallBytes)
    }
}
