import GRDB
import Primitives

/// The statements that the writer's thread runs, inside its transaction. All are prepared once.
struct IndexWriter {
    let db: Database
    let namespace: String
    /// The namespace's directory.
    let directory: String
    let statements: StoreStatements

    init(db: Database, namespace: String, directory: String) {
        self.db = db
        self.namespace = namespace
        self.directory = directory
        statements = StoreStatements(db)
    }

    // MARK: - Looking up

    /// The entry of that key.
    func row(forKey key: String) throws -> EntryRow? {
        var held = try statements.held
        held.bind(key)
        // What is stored is new, most of the time.
        return try held.hasRow() ? row(where: "key = ?", [key]) : nil
    }

    /// The entry of that number.
    func row(forID id: Int64) throws -> EntryRow? {
        try row(where: "entries.id = ?", [id])
    }

    /// The entry whose body is at that path.
    func row(forPath path: String) throws -> EntryRow? {
        try row(where: "path = ?", [path])
    }

    /// Rows that `query` selects, at most `limit`. Purges, sweep and eviction make a few hundred different statements
    /// at most, and repeat them.
    func rows(_ query: EntryQuery, limit: Int) throws -> [EntryRow] {
        let statement = try db.cachedStatement(sql: query.sql(EntryRow.columns) + " LIMIT ?")
        let arguments = query.arguments + StatementArguments([limit])
        return try statement.all(arguments) { try entryRow($0) }
    }

    /// Whether one of the entries under the keys from `first` to `last` is as `isWanted` says.
    func holds(from first: String, to last: String, where isWanted: (HeldSummary) -> Bool) throws -> Bool {
        let cursor = try Row.fetchCursor(try db.cachedStatement(sql: Self.heldStatement), arguments: [first, last])
        while let row = try cursor.next() {
            let held = HeldSummary(
                kindCode: row[0], expiryDate: Timestamp(milliseconds: row[1]), tags: EntryRow.tags(fromList: row[2]))
            if isWanted(held) { return true }
        }
        return false
    }

    /// See ``holds(from:to:where:)``.
    static let heldStatement = "SELECT kind, expiry, tagList FROM entries WHERE key BETWEEN ? AND ?"

    private func row(where condition: String, _ arguments: StatementArguments) throws -> EntryRow? {
        let statement = try db.cachedStatement(sql: "SELECT \(EntryRow.columns) FROM entries WHERE \(condition)")
        return try statement.first(arguments) { try entryRow($0) }
    }

    private func entryRow(_ row: StatementRow) throws -> EntryRow {
        try EntryRow(row, namespace: namespace, directory: directory)
    }

    // MARK: - Changing

    /// Writes a row, in place of `old`, the row of the same key and number.
    func put(_ row: EntryRow, replacing old: EntryRow?) throws {
        if old == nil {
            var statement = try statements.insert
            row.bind(to: &statement)
            try statement.run()
        } else {
            try write(row)
        }
        try replaceTags(of: row.id, old?.entry.tags ?? [], with: row.entry.tags)
    }

    /// Writes what a refresh or an update changed, and leaves the body alone.
    func change(_ row: EntryRow, from old: EntryRow) throws {
        try write(row)
        try replaceTags(of: row.id, old.entry.tags, with: row.entry.tags)
    }

    /// Removes a row and its tags.
    func delete(_ row: EntryRow) throws {
        try execute("DELETE FROM entries WHERE id = ?", [row.id])
        try replaceTags(of: row.id, row.entry.tags, with: [])
    }

    /// Says where a body is now, and how its file looks.
    func setFile(of id: Int64, path: String, identity: FileIdentity) throws {
        try execute(
            "UPDATE entries SET path = ?, inode = ?, modified = ?, changed = ? WHERE id = ?",
            [path, identity.inode, identity.modified, identity.changed, id])
    }

    /// Says in which slot a body is now.
    func setSlot(of id: Int64, _ slot: Slot) throws {
        try execute("UPDATE entries SET slot = ? WHERE id = ?", [slot.code, id])
    }

    /// Writes hits, last access and slide of an entry, if it is still the same version: then how many hits it has now.
    func apply(_ access: PendingAccess, toKey key: String) throws -> Int64? {
        if let slide = access.slide {
            let statement = try db.cachedStatement(
                sql: """
                    UPDATE entries SET \(Self.hitColumns), expiry = ?, ttl = ?
                    WHERE key = ? AND version = ? RETURNING hits
                    """)
            let arguments: StatementArguments = [
                access.hits, access.hits, access.lastAccess.milliseconds, slide.expiryDate.milliseconds,
                slide.ttl.milliseconds, key, access.version,
            ]
            return try statement.first(arguments) { $0[0] }
        }
        let statement = try db.cachedStatement(
            sql: "UPDATE entries SET \(Self.hitColumns) WHERE key = ? AND version = ? RETURNING hits")
        let arguments: StatementArguments = [
            access.hits, access.hits, access.lastAccess.milliseconds, key, access.version,
        ]
        return try statement.first(arguments) { $0[0] }
    }

    private static let hitColumns = """
        hits = hits + ?, frequency = min(frequency + ?, \(QueuePlace.frequencyLimit)), lastAccess = max(lastAccess, ?)
        """

    // MARK: - Order of eviction

    /// What has been in a queue for longest, and its key.
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

    /// Puts an entry at the young end of a queue.
    func move(_ id: Int64, to place: QueuePlace, turn: Int64) throws {
        try execute(
            "UPDATE entries SET queue = ?, frequency = ?, turn = ? WHERE id = ?",
            [place.queue.rawValue, place.frequency, turn, id])
    }

    static let oldestStatement = """
        SELECT id, key, cost, frequency, turn FROM entries WHERE queue = ? AND pinned = 0 ORDER BY turn, id LIMIT 1
        """

    private func write(_ row: EntryRow) throws {
        var statement = DirectStatement(try db.cachedStatement(sql: StoreStatements.putStatement))
        row.bind(to: &statement)
        try statement.run()
    }

    private func replaceTags(of id: Int64, _ old: [String], with new: [String]) throws {
        if old.isEmpty && new.isEmpty { return }
        let (before, after) = (Set(old.map(ExactText.init)), Set(new.map(ExactText.init)))
        for tag in before.subtracting(after) {
            try execute("DELETE FROM tags WHERE tag = ? AND id = ?", [tag.text, id])
        }
        for tag in after.subtracting(before) { try execute("INSERT INTO tags VALUES (?, ?)", [tag.text, id]) }
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

extension Statement {
    /// What `read` makes of the first row; `nil` when there is none.
    func first<T>(_ arguments: StatementArguments, _ read: (StatementRow) throws -> T) throws -> T? {
        let cursor = try Row.fetchCursor(self, arguments: arguments)
        // The row is only a view of the statement, which is reset when the cursor goes.
        return try withExtendedLifetime(cursor) {
            try cursor.next() == nil ? nil : try read(StatementRow(statement: sqliteStatement))
        }
    }

    /// What `read` makes of each row.
    func all<T>(_ arguments: StatementArguments, _ read: (StatementRow) throws -> T) throws -> [T] {
        let cursor = try Row.fetchCursor(self, arguments: arguments)
        var all: [T] = []
        while try cursor.next() != nil { all.append(try read(StatementRow(statement: sqliteStatement))) }
        return all
    }
}
