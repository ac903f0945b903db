import GRDB
import Primitives

/// The statements that the writer's thread runs inside its transaction. Each is prepared once.
struct IndexWriter {
    let db: Database
    let namespace: String
    let directory: String
    let statements: StoreStatements

    init(db: Database, namespace: String, directory: String) {
        self.db = db
        self.namespace = namespace
        self.directory = directory
        statements = StoreStatements(db)
    }

    func row(forKey key: String) throws -> EntryRow? {
        var held = try statements[.held]
        held.bind(key)
        // The shorter statement comes first, because most stores are of new keys.
        return try held.hasRow() ? row(where: "key = ?", [key]) : nil
    }

    func row(forID id: Int64) throws -> EntryRow? { try row(where: "entries.id = ?", [id]) }
    func row(forPath path: String) throws -> EntryRow? { try row(where: "path = ?", [path]) }

    /// The statement is cached: purges, sweep and eviction repeat at most a few hundred different statements.
    func rows(_ query: EntryQuery, limit: Int) throws -> [EntryRow] {
        let statement = try db.cachedStatement(sql: query.sql(EntryRow.columns) + " LIMIT ?")
        return try statement.all(query.arguments + [limit], entryRow)
    }

    /// Whether `isWanted` is true of an entry with a key from `first` to `last`, both included. `isWanted` gets the
    /// code of the kind, the expiry, the tags, and whether the entry has holders.
    func holds(
        from first: String, to last: String, where isWanted: (Int, Timestamp, [String], Bool) -> Bool
    ) throws -> Bool {
        let cursor = try Row.fetchCursor(try db.cachedStatement(sql: Self.heldStatement), arguments: [first, last])
        return try cursor.contains { row in
            isWanted(
                row[0], Timestamp(milliseconds: row[1]), EntryRow.tags(fromList: row[2]),
                row[3] as Int >= EntryRow.heldUnit)
        }
    }

    static let heldStatement = "SELECT kind, expiry, tagList, pinned FROM entries WHERE key BETWEEN ? AND ?"

    private func row(where condition: String, _ arguments: StatementArguments) throws -> EntryRow? {
        let statement = try db.cachedStatement(sql: "SELECT \(EntryRow.columns) FROM entries WHERE \(condition)")
        return try statement.first(arguments, entryRow)
    }

    private func entryRow(_ row: StatementRow) throws -> EntryRow {
        try EntryRow(row, namespace: namespace, directory: directory)
    }

    /// `old` is the row of the same key and id that the new row replaces.
    func put(_ row: EntryRow, replacing old: EntryRow?) throws {
        var statement =
            try old == nil
            ? statements[.insert] : DirectStatement(db.cachedStatement(sql: StoreQuery.putStatement))
        row.bind(to: &statement)
        try statement.run()
        try replaceTags(of: row.id, old?.entry.tags ?? [], with: row.entry.tags)
    }

    func delete(_ row: EntryRow) throws {
        try execute("DELETE FROM entries WHERE id = ?", [row.id])
        try replaceTags(of: row.id, row.entry.tags, with: [])
    }

    func setFile(of id: Int64, path: String, identity: FileIdentity) throws {
        try execute(
            "UPDATE entries SET path = ?, inode = ?, modified = ?, changed = ? WHERE id = ?",
            [path, identity.inode, identity.modified, identity.changed, id])
    }

    func setSlot(of id: Int64, _ slot: Slot) throws {
        try execute("UPDATE entries SET slot = ? WHERE id = ?", [slot.code, id])
    }

    /// Returns the new number of hits; `nil`, without a change, when the entry has another version by now or is gone.
    func apply(_ pending: PendingHits, toKey key: String) throws -> Int64? {
        let columns = pending.slide == nil ? Self.hitColumns : Self.hitColumns + ", expiry = ?, ttl = ?"
        var arguments: StatementArguments = [pending.hits, pending.hits, pending.lastAccess.milliseconds]
        if let slide = pending.slide { arguments += [slide.expiryDate.milliseconds, slide.ttl.milliseconds] }
        arguments += [key, pending.version]
        return try db.cachedStatement(sql: "UPDATE entries SET \(columns) WHERE key = ? AND version = ? RETURNING hits")
            .first(arguments) { $0[0] }
    }

    private static let hitColumns = """
        hits = hits + ?, frequency = min(frequency + ?, \(QueuePlace.frequencyLimit)), lastAccess = max(lastAccess, ?)
        """

    func oldest(in queue: EvictionQueue) throws -> (entry: QueuedEntry<Int64>, key: String, turn: Int64)? {
        let statement = try db.cachedStatement(sql: Self.oldestStatement)
        return try statement.first([queue.rawValue]) { row in
            let key: String = row[1]
            let entry = QueuedEntry<Int64>(
                id: row[0], hash: ExactText(key).hashValue, cost: row[2],
                place: QueuePlace(queue: queue, frequency: UInt8(clamping: row[3] as Int64)))
            return (entry, key, row[4])
        }
    }

    func move(_ id: Int64, to place: QueuePlace, turn: Int64) throws {
        try execute(
            "UPDATE entries SET queue = ?, frequency = ?, turn = ? WHERE id = ?",
            [place.queue.rawValue, place.frequency, turn, id])
    }

    static let oldestStatement = """
        SELECT id, key, cost, frequency, turn FROM entries WHERE queue = ? AND pinned = 0 ORDER BY turn, id LIMIT 1
        """

    private func replaceTags(of id: Int64, _ old: [String], with new: [String]) throws {
        if old.isEmpty && new.isEmpty { return }
        let (before, after) = (Set(old.map(ExactText.init)), Set(new.map(ExactText.init)))
        for tag in before.subtracting(after) {
            try execute("DELETE FROM tags WHERE tag = ? AND id = ?", [tag.text, id])
        }
        for tag in after.subtracting(before) { try execute("INSERT INTO tags VALUES (?, ?)", [tag.text, id]) }
    }

    func execute(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// `query` is one of the queries about the responses to a URL.
    func has(_ query: StoreQuery, ofMD5 md5: String, longerThan limit: Int? = nil) throws -> Bool {
        var statement = try statements[query]
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        statement.bind(first)
        statement.bind(last)
        if let limit { statement.bind(limit) }
        return try statement.hasRow()
    }

    /// All responses but that of `key`. The response that was stored or confirmed longest ago comes first.
    func variantFields(ofMD5 md5: String, but key: String) throws -> [(id: Int64, isPinned: Bool, length: Int)] {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantFieldsStatement).all([first, last, key]) { row in
            (id: row[0] as Int64, isPinned: row[1] as Bool, length: row[2] as Int)
        }
    }

    static let variantFieldsStatement = """
        SELECT id, pinned <> 0, length(CAST(fields AS BLOB)) FROM entries WHERE \(ResponseKeys.condition()) AND key <> ? \
        ORDER BY max(created, coalesce(downloadEnd, 0)), version
        """

    func variantCount(ofMD5 md5: String) throws -> Int {
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        return try db.cachedStatement(sql: Self.variantCountStatement).first([first, last]) { $0[0] } ?? 0
    }

    static let variantCountStatement = "SELECT COUNT(*) FROM entries WHERE \(ResponseKeys.condition())"

    /// Finds the unpinned responses that were stored or confirmed longest ago.
    static func oldestVariants(ofMD5 md5: String, limit: Int) -> EntryQuery {
        var query = EntryQuery.unfiltered
        let (first, last) = ResponseKeys.bounds(ofMD5: md5)
        // Selects by id first, so that SQLite sorts no whole rows.
        query.restrict(
            """
            entries.id IN (SELECT id FROM entries WHERE \(ResponseKeys.condition()) AND +pinned = 0 \
            ORDER BY max(created, coalesce(downloadEnd, 0)), version LIMIT ?)
            """, [first, last, limit])
        return query
    }
}

extension Statement {
    /// For a statement that returns at most one row.
    func first<T>(_ arguments: StatementArguments, _ read: (StatementRow) throws -> T) throws -> T? {
        try all(arguments, read).first
    }

    func all<T>(_ arguments: StatementArguments, _ read: (StatementRow) throws -> T) throws -> [T] {
        let cursor = try Row.fetchCursor(self, arguments: arguments)
        var all: [T] = []
        while try cursor.next() != nil { all.append(try read(StatementRow(statement: sqliteStatement))) }
        return all
    }
}

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
    /// Both leave out the resources of pages, which are in no queue.
    var queues: QueueTotals {
        let (all, resources) = (all, kinds[.resource] ?? Kind())
        return QueueTotals(
            entries: Int(all.entries - resources.entries),
            bytes: all.diskBytes - all.pinnedBytes - (resources.diskBytes - resources.pinnedBytes),
            smallBytes: smallBytes)
    }

    var snapshot: CacheTotals {
        let all = all
        return CacheTotals(
            entries: all.entries - (kinds[.resource]?.entries ?? 0), bodyBytes: all.bodyBytes,
            diskBytes: all.diskBytes,
            entriesByKind: kinds.filter { $0.key != .resource }.mapValues { $0.entries })
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
        if row.entry.isExempt {
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
