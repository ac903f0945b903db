import GRDB

extension SlabMap {
    /// Reads the map from the table `extents`. When the table is impossible, calls `onDamage`, and rebuilds and saves
    /// the table. The rebuild reads every row of the entries.
    static func load(_ db: Database, onDamage: () -> Void) throws -> SlabMap {
        do {
            return try SlabMap(db)
        } catch DiskCacheError.index {
            onDamage()
        }
        try db.inTransaction(.immediate) {
            try rebuild(db)
            return .commit
        }
        return try SlabMap(db)
    }

    /// When two rows contradict each other, the later row loses its slot, and the scrubber removes its entry.
    private static func rebuild(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM extents")
        var extents: [Int: Extent] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT id, slot FROM entries WHERE slot IS NOT NULL ORDER BY id") {
            let slot = Slot(code: row[1])
            var extent = slot.flatMap { extents[$0.extent] ?? Extent($0.slotClass) }
            if let slot, extent?.slotClass == slot.slotClass, extent?.take(slot.index) == true {
                extents[slot.extent] = extent
            } else {
                try db.execute(sql: "UPDATE entries SET slot = NULL WHERE id = ?", arguments: [row[0] as Int64])
            }
        }
        for (number, extent) in extents { try save(extent, number: number, db) }
    }
}
