import GRDB
import Primitives

/// The tools of an operation on the writer's thread: the index, the files, and the journal that ties them together. A
/// context lives for a single transaction and never leaves the thread.
package final class WriteContext {
    let parts: CacheParts
    let index: IndexWriter
    let journal = Journal()
    var unsynced: UnsyncedBodies
    package var totals: Totals
    let slots: SlabMap
    let eviction: Eviction
    package let now: Timestamp

    init(_ parts: CacheParts, db: Database, totals: Totals, slots: SlabMap, eviction: Eviction) {
        self.parts = parts
        self.totals = totals
        self.slots = slots
        self.eviction = eviction
        unsynced = UnsyncedBodies(
            parts.sync, isWanted: parts.configuration.durability == .power, incoming: parts.bodies.incoming,
            slab: parts.slab)
        index = IndexWriter(db: db, namespace: parts.configuration.namespace, directory: parts.bodies.directory)
        now = parts.clock.now()
    }

    func reach(_ point: CrashPoint) throws { try parts.crashHook(point) }

    /// Drops all copies of an entry that changed or went, once the transaction is committed: in the memory tier, in the
    /// slot table, and the marks of responses.
    func invalidate(_ key: String) {
        journal.onCommit { [parts] in
            parts.memory.remove(key)
            parts.slotTable.remove(ExactText(key).hashValue)
            if let key = CacheKey(key), key.form == .response { parts.responseChanges.change(key.md5Hex) }
        }
    }

    // MARK: - Entries

    package func entry(forKey key: String) throws -> Entry? { try index.row(forKey: key)?.entry }

    /// Removes the row, and the body from its path or slot. `verb` `nil`: the removal gets no event of its own.
    func remove(
        _ row: EntryRow, because cause: RemovalCause = .purged, as verb: EntryChange.Verb? = .removed
    ) throws {
        if let path = row.path { try setAside(path, id: row.id) }
        if let slot = row.slot { free(slot) }
        try index.delete(row)
        totals.remove(row)
        invalidate(row.entry.key)
        journal.onCommit { [removals = parts.removals, kind = row.entry.kind] in removals.count(cause, kind) }
        if let verb { tell(verb, row.entry) }
    }

    /// Removes the entries that `query` finds and returns their number. `count` entries were removed before.
    func remove(
        _ query: EntryQuery, because cause: RemovalCause, limit: Int, _ telling: BulkRemoval, after count: Int
    ) throws -> Int {
        // The thread may yield until the end of the transaction, with the commit and the checkpoint that may follow.
        Processor.share()
        let rows = try index.rows(query, limit: limit)
        for (number, row) in rows.enumerated() {
            Processor.offer()
            try remove(row, because: cause, as: telling.verb(after: count + number))
        }
        return rows.count
    }

    func tell(_ verb: EntryChange.Verb, _ entry: Entry) {
        if parts.isWatched { journal.tell(EntryChange(verb, entry)) }
    }

    func tell(_ change: EntryChange?) {
        if let change, parts.isWatched { journal.tell(change) }
    }

    package func put(
        _ entry: Entry, cost: Int64, path: String? = nil, slot: Slot? = nil, identity: FileIdentity? = nil,
        replacing old: EntryRow? = nil
    ) throws {
        if let old { totals.remove(old) }
        let place = eviction.place(forKey: entry.key, cost: cost, replacing: old?.place, among: totals.queues)
        let row = EntryRow(
            id: old?.id ?? entry.version, entry: entry, cost: cost, path: path, slot: slot, identity: identity,
            place: place, turn: entry.version)
        try index.put(row, replacing: old)
        totals.add(row)
    }

    func change(_ old: EntryRow, to entry: Entry) throws -> Entry {
        try checkTags(of: entry)
        var row = old
        row.entry = entry
        row.slot = try slot(of: entry, as: old)
        row.cost = EntryRow.cost(of: entry, in: row.slot)
        try index.change(row, from: old)
        totals.remove(old)
        totals.add(row)
        invalidate(entry.key)
        return entry
    }

    /// Callers add tags, so without a limit the number could grow for ever.
    func checkTags(of entry: Entry) throws {
        guard entry.tags.count <= Entry.tagLimit else { throw DiskCacheError.tooManyTags(limit: Entry.tagLimit) }
    }
}
