import Primitives

/// The objects that all parts of an open namespace share. None of them knows the writer's thread.
final class CacheParts: Sendable {
    let configuration: DiskCache.Configuration
    let clock: any WallClock
    let log: @Sendable (DiskCacheNotice) -> Void
    private let observer: (any EntryObserver)?
    let crashHook: @Sendable (CrashPoint) throws -> Void
    let sync: FileSync
    /// Holds the lock of the cache directory.
    let lock: CacheDirectory
    let bodies: BodyStore
    let index: Index
    let slab: Slab
    /// The slots of small bodies.
    let slotTable: SlotTable
    let memory: MemoryTier<HeldEntry>
    /// Counts the changes of responses, by the MD5 of their URL.
    let responseChanges = ChangeCounters()
    let access = AccessLog()
    let accessClock: AccessClock
    let budget: ByteBudget
    let flights = FlightTable()
    /// The totals as of the last commit.
    let totals = Locked(CacheTotals.none)
    /// Counts the entries that are removed.
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

    /// The memory for the slot table: a quarter of the memory limit, of which it is a part.
    static func slotTableLimit(ofMemory limit: Int) -> Int { limit / 4 }

    /// The statements that read.
    var reader: IndexReader {
        IndexReader(index: index, namespace: configuration.namespace, directory: bodies.directory)
    }

    /// Whether the observer is interested in changes.
    var isWatched: Bool { observer?.isInterested == true }

    /// Sends the observer the changes, on the writer's thread.
    func tell(_ changes: [EntryChange]) {
        if !changes.isEmpty { observer?.entriesChanged(changes) }
    }

    /// The longest body that goes into the slab, in bytes. Negative: no body does.
    var inlineLimit: Int64 {
        configuration.layout == .hashed && configuration.inlineLimit > 0 ? configuration.inlineLimit : -1
    }

    /// The longest body in a file that is read whole and may enter the memory tier, in bytes.
    var wholeReadLimit: Int64 { min(1 << 20, Int64(memory.limit / 16)) }
}

/// An entry in the memory tier.
struct HeldEntry: Sendable {
    var entry: Entry
    let body: StoredBody
    let hot: HotEntry
}
