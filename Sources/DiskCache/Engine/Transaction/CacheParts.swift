import Primitives

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
