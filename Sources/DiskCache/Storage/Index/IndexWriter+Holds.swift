import GRDB
import Primitives

/// The tables `holders` and `holds`. An entry is held as long as a holder holds it.
extension IndexWriter {
    func holder(named name: String) throws -> (id: Int64, generation: Int64)? {
        try db.cachedStatement(sql: "SELECT id, generation FROM holders WHERE name = ?").first([name]) {
            ($0[0], $0[1])
        }
    }

    /// Returns the id of the holder, which gets the number of its new generation.
    func setGeneration(_ generation: Int64, ofHolder name: String) throws -> Int64 {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO holders (name, generation) VALUES (?, ?) \
                ON CONFLICT (name) DO UPDATE SET generation = excluded.generation RETURNING id
                """)
        return try statement.first([name, generation]) { $0[0] } ?? 0
    }

    func removeHolder(_ holder: Int64) throws {
        try execute("DELETE FROM holders WHERE id = ?", [holder])
    }

    /// The entries that a holder holds: their ids and versions by their keys.
    func heldEntries(of holder: Int64) throws -> [String: (id: Int64, version: Int64)] {
        let statement = try db.cachedStatement(
            sql: "SELECT key, entries.id, version FROM holds JOIN entries ON entries.id = entry WHERE holder = ?")
        var held: [String: (id: Int64, version: Int64)] = [:]
        for (key, id, version) in try statement.all([holder], { ($0[0] as String, $0[1] as Int64, $0[2] as Int64) }) {
            held[key] = (id, version)
        }
        return held
    }

    /// See ``ResumedGeneration/dates``.
    func heldDates(of holder: Int64) throws -> [String: Timestamp] {
        let sql =
            "SELECT key, coalesce(downloadEnd, created) FROM holds JOIN entries ON entries.id = entry WHERE holder = ?"
        let rows = try db.cachedStatement(sql: sql).all([holder]) { row in
            (row[0] as String, Timestamp(milliseconds: row[1]))
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    func heldIDs(of holder: Int64, limit: Int) throws -> [Int64] {
        try db.cachedStatement(sql: "SELECT entry FROM holds WHERE holder = ? LIMIT ?").all([holder, limit]) { $0[0] }
    }

    func addHold(on entry: Int64, by holder: Int64) throws {
        try execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", [holder, entry])
    }

    func removeHold(on entry: Int64, by holder: Int64) throws {
        try execute("DELETE FROM holds WHERE holder = ? AND entry = ?", [holder, entry])
    }

    func removeHolds(of entry: Int64) throws {
        try execute("DELETE FROM holds WHERE entry = ?", [entry])
    }

    func holderCount(of entry: Int64) throws -> Int {
        try db.cachedStatement(sql: "SELECT COUNT(*) FROM holds WHERE entry = ?").first([entry]) { $0[0] } ?? 0
    }
}
