import GRDB
import Primitives

/// What an operation works with on the writer's thread: the index, the files, and the journal that ties them together.
///
/// It lives as long as one transaction and never leaves the thread.
final class WriteContext {
    let parts: CacheParts
    let index: IndexWriter
    let journal = Journal()
    var unsynced: UnsyncedBodies
    var totals: Totals
    let slots: SlabMap
    let eviction: Eviction
    /// One instant for the whole transaction.
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

    /// A point at which a test may stop everything.
    func reach(_ point: CrashPoint) throws { try parts.crashHook(point) }

    /// Tells everybody who keeps something of an entry that it is another, or gone.
    func invalidate(_ key: String) {
        journal.onCommit { [parts] in
            parts.memory.remove(key)
            parts.slotTable.remove(ExactText(key).hashValue)
            if let key = CacheKey(key), key.form == .response { parts.responseChanges.change(key.md5Hex) }
        }
    }

    // MARK: - Entries

    /// Removes an entry: its row, and its body from its place.
    ///
    /// - Parameters:
    ///   - cause: as what it counts.
    ///   - verb: how that is told to who watches; `nil`: not by itself, see ``BulkRemoval``.
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

    /// Has who watches told, once this is durable, what became of an entry.
    func tell(_ verb: EntryChange.Verb, _ entry: Entry) {
        if parts.isWatched { journal.tell(EntryChange(verb, entry)) }
    }

    /// The same of what is known already; `nil`: there is nothing to tell.
    func tell(_ change: EntryChange?) {
        if let change, parts.isWatched { journal.tell(change) }
    }

    /// Removes some of what entries take above the limit; how many of them.
    func evictExcess() throws -> Int {
        let excess = totals.diskBytes - parts.budget.limit
        return try eviction.step(self, toFree: excess, because: .limit, sparesNewest: false).entries
    }

    /// Writes what changed of an entry whose body stays.
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

    /// Callers add tags, so somebody could go on adding them for ever.
    func checkTags(of entry: Entry) throws {
        guard entry.tags.count <= Entry.tagLimit else { throw DiskCacheError.tooManyTags(limit: Entry.tagLimit) }
    }

    // MARK: - What was done to entries

    /// Writes down some of the slides that were marked; whether that was the last of them.
    func flushMarkedSlides(limit: Int) throws -> Bool {
        try flushAccess(limit: .marked(limit))
        return !parts.access.hasMarkedSlides
    }

    /// Writes down a slide by which an entry is fresh that has expired as the index has it; whether there was one.
    func flushSlide(of entry: Entry) throws -> Bool {
        let slid = entry.applying(parts.access.pending(entry.key))
        guard !entry.isFresh(at: now), slid.isFresh(at: now) else { return false }
        try flushAccess(only: entry.key)
        return true
    }

    /// Writes down hits, last accesses and slides: so many of them, or those of one key.
    func flushAccess(limit: AccessLog.FlushLimit = .all, only key: String? = nil) throws {
        var flush = parts.access.beginFlush(limit: limit, only: key)
        if flush.items.isEmpty { return }
        // Rows stand in the order in which they were first published. So those that share a page come together, and the
        // file is read and written in one direction.
        flush.items.sort { $0.access.version < $1.access.version }
        journal.onUndo { [access = parts.access, flush] in access.cancelFlush(flush) }
        var hits: [ExactText: Int64] = [:]
        for (key, access) in flush.items {
            if let count = try index.apply(access, toKey: key) { hits[ExactText(key)] = count }
        }
        parts.access.wrote(flush, hits: hits)
        // The memory tier first: until it knows, the log still tells.
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable, log = parts.access, flush] in
            for (key, access) in flush.items {
                // Whoever read the row before this knows nothing of the slide, once the log has forgotten it.
                if access.slide != nil { slotTable.remove(ExactText(key).hashValue) }
                guard let count = hits[ExactText(key)] else { continue }
                memory.update(key) { $0.entry = $0.entry.applying(access.written(hits: count)) }
            }
            log.endFlush(flush)
        }
    }
}
