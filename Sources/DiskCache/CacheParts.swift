import Primitives

/// What the parts of one open namespace share. None of it knows the writer's thread.
final class CacheParts: Sendable {
    let configuration: DiskCache.Configuration
    let clock: any WallClock
    let log: @Sendable (DiskCacheNotice) -> Void
    private let observer: (any EntryObserver)?
    let crashHook: @Sendable (CrashPoint) throws -> Void
    let sync: FileSync
    /// Keeps the lock of the cache directory.
    let lock: CacheDirectory
    let bodies: BodyStore
    let index: Index
    let slab: Slab
    /// Where bodies are in the slab.
    let slotTable: SlotTable
    let memory: MemoryTier<HeldEntry>
    /// By the MD5 of the URL that responses are of.
    let responseChanges = ChangeCounters()
    let access = AccessLog()
    let accessClock: AccessClock
    let budget: ByteBudget
    let flights = FlightTable()
    /// What there is, as of the last commit.
    let totals = Locked(CacheTotals.none)
    /// Counts entries that leave.
    let removals: RemovalMeter
    /// Whether the tree was searched for bodies that a lost index left behind.
    let treeWasSearched = Locked(false)

    init(
        in lock: CacheDirectory, configuration: DiskCache.Configuration, clock: any WallClock,
        log: @escaping @Sendable (DiskCacheNotice) -> Void, crashHook: @escaping @Sendable (CrashPoint) throws -> Void,
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
        index = try Index(
            path: bodies.directory + "/index.sqlite", beside: slab.path, configuration: configuration, clock: clock,
            log: log)
        if configuration.durability == .power { try sync.path(to: bodies.directory) }
        accessClock = AccessClock(clock, notBefore: try index.latestAccess() ?? clock.now())
        memory = MemoryTier(
            limit: configuration.memoryLimit, onTake: { $0.hot.leave() },
            onLeave: { [access] held in
                held.hot.change()
                access.retire(held.hot)
            })
        budget = ByteBudget(
            limit: configuration.diskLimit,
            freeSpace: FreeSpace(reserve: configuration.diskReserve, directory: bodies.directory))
    }

    /// Where bodies are is worth a quarter of the memory limit, in which it counts.
    static func slotTableLimit(ofMemory limit: Int) -> Int { limit / 4 }

    /// The statements that read.
    var reader: IndexReader {
        IndexReader(index: index, namespace: configuration.namespace, directory: bodies.directory)
    }

    /// Whether anybody would be told of a change.
    var isWatched: Bool { observer?.isInterested == true }

    /// Tells who watches what was changed, on the writer's thread.
    func tell(_ changes: [EntryChange]) {
        if !changes.isEmpty { observer?.entriesChanged(changes) }
    }

    /// A body longer than this is not kept in the slab; negative: none is.
    var inlineLimit: Int64 {
        configuration.layout == .hashed && configuration.inlineLimit > 0 ? configuration.inlineLimit : -1
    }

    /// A body in a file is read whole, and may go to the memory tier, up to this length.
    var wholeReadLimit: Int64 { min(1 << 20, Int64(memory.limit / 16)) }
}

/// What the memory tier holds of an entry.
struct HeldEntry: Sendable {
    var entry: Entry
    let body: StoredBody
    let hot: HotEntry
}
