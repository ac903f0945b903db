import GRDB
import Primitives

/// The tools of an operation on the writer's thread: the index, the files, and the journal that ties them together.
///
/// A context lives for a single transaction and never leaves the thread.
final class WriteContext {
    let parts: CacheParts
    let index: IndexWriter
    let journal = Journal()
    var unsynced: UnsyncedBodies
    var totals: Totals
    let slots: SlabMap
    let eviction: Eviction
    /// The time of the transaction; all its operations see the same instant.
    let now: Timestamp

    init(_ parts: CacheParts, db: Database, totals: Totals, slots: SlabMap, eviction: Eviction) {
        self.parts = parts
        self.totals = totals
        self.slots = slots
        self.eviction = eviction
        unsynced = UnsyncedBodies(parts)
        index = IndexWriter(db: db, namespace: parts.configuration.namespace, directory: parts.bodies.directory)
        now = parts.clock.now()
    }

    /// Calls the crash hook, by which a test may stop the writer at this point.
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

    /// Removes an entry: its row, and its body from its path or slot.
    ///
    /// - Parameters:
    ///   - cause: the cause under which the removal is counted.
    ///   - verb: the event for the observer. `nil`: no event of its own; see ``BulkRemoval``.
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

    /// Sends the observer an event about an entry, once the transaction is durable.
    func tell(_ verb: EntryChange.Verb, _ entry: Entry) {
        if parts.isWatched { journal.tell(EntryChange(verb, entry)) }
    }

    /// Sends the observer an event that is complete already. `nil`: there is no event.
    func tell(_ change: EntryChange?) {
        if let change, parts.isWatched { journal.tell(change) }
    }

    /// Removes some entries when all entries together exceed the limit. Returns the number of removed entries.
    func evictExcess() throws -> Int {
        let excess = totals.diskBytes - parts.budget.limit
        return try eviction.step(self, toFree: excess, because: .limit, sparesNewest: false).entries
    }

    /// Writes the changed metadata of an entry. The body stays.
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

    /// Throws when the entry has too many tags. Callers add tags, so without a limit the number could grow for ever.
    func checkTags(of entry: Entry) throws {
        guard entry.tags.count <= Entry.tagLimit else { throw DiskCacheError.tooManyTags(limit: Entry.tagLimit) }
    }

    // MARK: - Hits, last accesses and slides

    /// Writes at most `limit` of the marked slides to the index. Returns whether none is left.
    func flushMarkedSlides(limit: Int) throws -> Bool {
        try flushAccess(limit: .marked(limit))
        return !parts.access.hasMarkedSlides
    }

    /// Writes the slide of an entry to the index, if the entry is fresh only by that slide. Returns whether it did.
    func flushSlide(of entry: Entry) throws -> Bool {
        let slid = entry.applying(parts.access.pending(entry.key))
        guard !entry.isFresh(at: now), slid.isFresh(at: now) else { return false }
        try flushAccess(only: entry.key)
        return true
    }

    /// Writes pending hits, last accesses and slides to the index: up to `limit`, or only those of `key`.
    func flushAccess(limit: AccessLog.FlushLimit = .all, only key: String? = nil) throws {
        var flush = parts.access.beginFlush(limit: limit, only: key)
        if flush.items.isEmpty { return }
        // Rows are stored in the order of their first publish. So the sort brings entries of the same page together,
        // and the file is read and written in a single direction.
        flush.items.sort { $0.access.version < $1.access.version }
        journal.onUndo { [access = parts.access, flush] in access.cancelFlush(flush) }
        var hits: [ExactText: Int64] = [:]
        for (key, access) in flush.items {
            if let count = try index.apply(access, toKey: key) { hits[ExactText(key)] = count }
        }
        parts.access.wrote(flush, hits: hits)
        // The memory tier is updated before the log drops the flush. Until then, readers get the pending access from
        // the log.
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable, log = parts.access, flush] in
            for (key, access) in flush.items {
                // A reader that read the row before the commit does not know the slide once the log has dropped it.
                if access.slide != nil { slotTable.remove(ExactText(key).hashValue) }
                guard let count = hits[ExactText(key)] else { continue }
                memory.update(key) { $0.entry = $0.entry.applying(access.written(hits: count)) }
            }
            log.endFlush(flush)
        }
    }
}
