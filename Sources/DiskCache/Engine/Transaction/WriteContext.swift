import GRDB
import Primitives

/// The index, the files, and the journal that ties them together, for one transaction on the writer's thread.
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
        unsynced = UnsyncedBodies(parts)
        index = IndexWriter(db: db, namespace: parts.configuration.namespace, directory: parts.bodies.directory)
        now = parts.clock.now()
    }

    func reach(_ point: CrashPoint) throws { try parts.crashHook(point) }

    /// After the commit, drops an entry from memory and the slot table, and voids each ``ChangeMark`` of its URL.
    func invalidate(_ key: String) {
        journal.onCommit { [parts] in
            parts.memory.remove(key)
            parts.slotTable.remove(ExactText(key).hashValue)
            if let key = CacheKey(key), key.form == .response { parts.responseChanges.change(key.md5Hex) }
        }
    }

    package func entry(forKey key: String) throws -> Entry? { try index.row(forKey: key)?.entry }

    /// Removes the row, and the body from its path or slot. `verb` `nil`: the removal gets no event of its own.
    func remove(_ row: EntryRow, because cause: RemovalCause = .purged, as verb: EntryChange.Verb? = .removed) throws {
        if let path = row.path { try setAside(path, id: row.id) }
        if let slot = row.slot { free(slot) }
        if row.entry.held { try index.removeHolds(of: row.id) }
        switch row.entry.kind {
        case .page: try dropCaptures(ofPage: row.id)
        // A damaged resource is removed although captures use it.
        case .resource: try index.removeUses(of: row.id)
        case .download, .json, .data, .response: break
        }
        try index.delete(row)
        totals.remove(row)
        invalidate(row.entry.key)
        guard row.entry.kind != .resource else { return }
        journal.onCommit { [removals = parts.removals, kind = row.entry.kind] in removals.count(cause, kind) }
        if let verb { tell(verb, row.entry) }
    }

    /// Removes up to `limit` entries that `query` finds. Returns their number. `count` entries were removed before.
    func remove(
        _ query: EntryQuery, because cause: RemovalCause, limit: Int, _ telling: BulkRemoval, after count: Int
    ) throws -> Int {
        // From now on the thread may yield, until the end of the transaction and of a checkpoint that may follow.
        Processor.share()
        let rows = try index.rows(query, limit: limit)
        for (number, row) in rows.enumerated() {
            Processor.offer()
            try remove(row, because: cause, as: telling.verb(after: count + number))
        }
        return rows.count
    }

    func tell(_ verb: EntryChange.Verb, _ entry: Entry) {
        if parts.isWatched { journal.tell(EntryChange(verb: verb, subject: .entry(EntrySummary(entry)))) }
    }

    package func put(
        _ entry: Entry, cost: Int64, path: String? = nil, slot: Slot? = nil, identity: FileIdentity? = nil,
        replacing old: EntryRow? = nil
    ) throws {
        if let old { totals.remove(old) }
        let hash = ExactText(entry.key).hashValue
        var place =
            entry.kind == .resource
            ? QueuePlace(queue: .unranked)
            : old?.place ?? eviction.policy.place(hash: hash, cost: cost, among: totals.queues)
        // A replacement counts as a hit, because an entry that is stored again is in use.
        if old != nil { place.hit() }
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
        try index.put(row, replacing: old)
        totals.remove(old)
        totals.add(row)
        invalidate(entry.key)
        if entry.kind == .page, entry.isExempt != old.entry.isExempt { try pinResources(ofPage: row.id) }
        return entry
    }

    /// Limits the tags, because callers add tags and their number could grow for ever.
    func checkTags(of entry: Entry) throws {
        guard entry.tags.count <= Entry.tagLimit else { throw DiskCacheError.tooManyTags(limit: Entry.tagLimit) }
    }

    /// Writes a renewed expiry date to the index if it makes a stale entry fresh. Returns whether it did so.
    func flushSlide(of entry: Entry) throws -> Bool {
        let slid = entry.applying(parts.hits.pending(entry.key))
        guard !entry.isFresh(at: now), slid.isFresh(at: now) else { return false }
        try flushHits(only: entry.key)
        return true
    }

    /// Writes pending hits, last accesses and expiry dates to the index: up to `limit`, or only those of `key`.
    package func flushHits(limit: HitLog.FlushLimit = .all, only key: String? = nil) throws {
        var flush = parts.hits.beginFlush(limit: limit, only: key)
        if flush.items.isEmpty { return }
        // Rows are in the order of their first publish. After the sort, updates of rows on one page follow each other.
        flush.items.sort { $0.pending.version < $1.pending.version }
        journal.onUndo { [log = parts.hits, flush] in log.cancelFlush(flush) }
        var counts: [ExactText: Int64] = [:]
        for (key, pending) in flush.items {
            if let count = try index.apply(pending, toKey: key) { counts[ExactText(key)] = count }
        }
        parts.hits.wrote(flush, hits: counts)
        // The memory tier is updated first: until the log drops the flush, readers get the pending hits from the log.
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable, log = parts.hits, flush] in
            for (key, pending) in flush.items {
                // The slot's record has the old expiry date, and the log drops the new one, so no reader may find it.
                if pending.slide != nil { slotTable.remove(ExactText(key).hashValue) }
                guard let count = counts[ExactText(key)] else { continue }
                memory.update(key) { $0.entry = $0.entry.applying(pending.written(hits: count)) }
            }
            log.endFlush(flush)
        }
    }

    /// If the URL's responses are at their limit, evicts the one stored or confirmed longest ago. `false`: all pinned.
    func makeRoomForVariant(of key: CacheKey) throws -> Bool {
        guard try index.has(.fullVariants, ofMD5: key.md5Hex) else { return true }
        let excess = try index.variantCount(ofMD5: key.md5Hex) - (Entry.variantLimit - 1)
        let oldest = try index.rows(IndexWriter.oldestVariants(ofMD5: key.md5Hex, limit: excess), limit: excess)
        for row in oldest { try remove(row, because: .variants, as: .evicted) }
        return !oldest.isEmpty
    }

    /// Makes room for `length` bytes of fields of a response to the URL of `key`. While all fields together have too
    /// many bytes, the response that was stored or confirmed longest ago is evicted. Returns `false`, and evicts no
    /// response, when the pinned responses leave no room; always `true` with an entry `old`, which stays in any case.
    func makeRoomForFields(of key: CacheKey, length: Int, replacing old: Entry?) throws -> Bool {
        let oldLength = old?.fieldsLength ?? 0
        let limit = Entry.variantFieldsLimit - length
        guard length > oldLength, try index.has(.longFields, ofMD5: key.md5Hex, longerThan: limit + oldLength) else {
            return true
        }
        let others = try index.variantFields(ofMD5: key.md5Hex, but: key.text)
        var held = others.reduce(0) { $0 + $1.length }
        var oldest: [Int64] = []
        for other in others where !other.isPinned && held > limit {
            held -= other.length
            oldest.append(other.id)
        }
        // The fields of a single response may have any length.
        let hasRoom = held <= limit || oldest.count == others.count
        guard hasRoom || old != nil else { return false }
        for id in oldest {
            if let row = try index.row(forID: id) { try remove(row, because: .variants, as: .evicted) }
        }
        return true
    }
}

/// The steps of a transaction outside the index: their undos, and the work after the commit. For the writer's thread.
final class Journal {
    private var undos: [() -> Void] = []
    private var commits: [() -> Void] = []
    private var cleanups: [() -> Void] = []
    private(set) var changes: [EntryChange] = []

    typealias Mark = (undos: Int, commits: Int, cleanups: Int, changes: Int)

    /// `action` undoes the step that was just taken. Steps are undone in reverse order.
    func onUndo(_ action: @escaping () -> Void) { undos.append(action) }

    /// Runs after the commit, before the change is acknowledged.
    func onCommit(_ action: @escaping () -> Void) { commits.append(action) }

    /// Runs after the change is durable and acknowledged.
    func afterwards(_ action: @escaping () -> Void) { cleanups.append(action) }
    func tell(_ change: EntryChange) { changes.append(change) }

    var mark: Mark { (undos.count, commits.count, cleanups.count, changes.count) }

    func undo(to mark: Mark) {
        while undos.count > mark.undos { undos.removeLast()() }
        commits.removeSubrange(mark.commits...)
        cleanups.removeSubrange(mark.cleanups...)
        changes.removeSubrange(mark.changes...)
    }

    func undoAll() { undo(to: (0, 0, 0, 0)) }

    /// Call it when the transaction is durable.
    func committed() {
        undos = []
        for action in commits { action() }
        commits = []
    }

    /// Call it when each waiting caller has its result.
    func cleanUp() {
        for action in cleanups { action() }
        cleanups = []
    }
}

/// The objects that all parts of an open namespace share. None of them knows the writer's thread.
package final class CacheParts: Sendable {
    let configuration: CacheConfiguration
    let clock: any WallClock
    let log: @Sendable (DiskCacheNotice) -> Void
    private let observer: (any EntryObserver)?
    let crashHook: @Sendable (CrashPoint) throws -> Void
    let sync: FileSync
    let lock: CacheDirectory
    let bodies: BodyStore
    package let index: EntryIndex
    let slab: Slab
    let slotTable: SlotTable
    let memory: MemoryTier<HeldEntry>
    /// Counts the changes of the responses to each URL, by the MD5 of the URL.
    let responseChanges = ChangeCounters()
    package let hits: HitLog
    package let budget: ByteBudget
    let pendingStores = PendingStores()
    let runningCaptures = RunningCaptures()
    package let totals = Locked(CacheTotals.none)
    let removals: RemovalMeter
    /// Whether the tree was searched for bodies that a lost index left behind.
    let treeWasSearched = Locked(false)

    package init(
        in lock: CacheDirectory, configuration: CacheConfiguration, clock: any WallClock,
        log: @escaping @Sendable (DiskCacheNotice) -> Void,
        crashHook: @escaping @Sendable (CrashPoint) throws -> Void = { _ in },
        sync: FileSync = .system, observer: (any EntryObserver)? = nil, removals: RemovalCounters = RemovalCounters()
    ) throws(DiskCacheError) {
        guard CacheDirectory.isNamespace(configuration.namespace) else {
            throw .invalidNamespace(configuration.namespace)
        }
        self.lock = lock
        self.configuration = configuration
        self.clock = clock
        self.log = log
        self.observer = observer
        self.removals = RemovalMeter(removals)
        self.crashHook = crashHook
        self.sync = sync
        try lock.claim(configuration.place)
        bodies = try BodyStore(
            directory: lock.path(of: configuration.place), writeBuffers: lock.writeBuffers,
            footprint: configuration.footprint)
        slab = try Slab(path: bodies.slabPath)
        slotTable = SlotTable(memoryLimit: Self.slotTableLimit(ofMemory: configuration.memoryLimit))
        index = try EntryIndex(
            path: bodies.directory + "/index.sqlite", beside: slab.path, configuration: configuration, clock: clock,
            log: log)
        if configuration.durability == .power { try sync.path(to: bodies.directory) }
        hits = HitLog(HitClock(clock, notBefore: try index.latestAccess() ?? clock.now()))
        memory = MemoryTier(
            limit: configuration.memoryLimit, onTake: { $0.hot.leave() },
            onLeave: { [hits] held in
                held.hot.change()
                hits.retire(held.hot, of: held.hot.key)
            })
        budget = ByteBudget(
            limit: configuration.diskLimit,
            freeSpace: FreeSpace(reserve: configuration.diskReserve, directory: bodies.directory))
    }

    static func slotTableLimit(ofMemory limit: Int) -> Int { limit / 4 }

    var reader: IndexReader {
        IndexReader(index: index, namespace: configuration.namespace, directory: bodies.directory)
    }

    /// The longest body that goes into the slab. Negative: no body goes there.
    var inlineLimit: Int64 {
        configuration.layout == .hashed && configuration.inlineLimit > 0 ? configuration.inlineLimit : -1
    }
    /// The length up to which a body in a file is read whole, so that it may enter the memory tier.
    var wholeReadLimit: Int64 { min(1 << 20, Int64(memory.limit / 16)) }
    var isWatched: Bool { observer?.isInterested == true }

    func tell(_ changes: [EntryChange]) {
        if !changes.isEmpty { observer?.entriesChanged(changes) }
    }
}
