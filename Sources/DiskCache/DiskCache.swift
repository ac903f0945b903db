import Primitives

/// A namespace of the cache: entries with their bodies, on disk and in memory. All methods may be called on any thread.
///
/// Reads are synchronous and short: at most a look-up in the index and the read of a file of up to 1 MiB. Without
/// `mayWait` they never wait for the disk; if a read needs the disk, repeat it on a disk thread (``onDiskThread(_:)``).
/// A write's completion is called on the writer's thread once the change is durable (``Durability``), and must not
/// wait. The ``Writer`` changes the index and the published files. Each body is received through a ``Reservation``.
/// ``PendingStores`` explains the guarantees about purges, `WriteContext+Bodies.swift` the guarantees about crashes.
package final class DiskCache: Sendable {
    package let configuration: CacheConfiguration
    let parts: CacheParts
    let writer: Writer
    let verifier: Verifier
    let scrubber: Scrubber
    let diskThreads: DiskThreads

    /// Opens or creates the directory of the namespace. This object keeps the lock of the cache directory as long as it
    /// exists. An unreadable index is renamed with a date in its name, `log` gets a notice, and the cache starts empty.
    /// Finishes or undoes the changes that a crash interrupted. `crashHook` and `sync` are for tests.
    package init(
        in directory: CacheDirectory, configuration: CacheConfiguration, clock: any WallClock = SystemClock(),
        observer: (any EntryObserver)? = nil, removals: RemovalCounters = RemovalCounters(),
        log: @escaping @Sendable (DiskCacheNotice) -> Void = { _ in },
        crashHook: @escaping @Sendable (CrashPoint) throws -> Void = { _ in }, sync: FileSync = .system
    ) throws(DiskCacheError) {
        self.configuration = configuration
        diskThreads = DiskThreads(count: configuration.footprint.diskThreadCount)
        parts = try CacheParts(
            in: directory, configuration: configuration, clock: clock, log: log, crashHook: crashHook, sync: sync,
            observer: observer, removals: removals)
        let loop = try WriterLoop(parts)
        try Recovery.run(parts.bodies, loop, log: log)
        writer = Writer(loop, hits: parts.hits, index: parts.index)
        verifier = Verifier(parts, writer: writer)
        scrubber = Scrubber(parts, writer: writer, verifier: verifier)
    }

    deinit {
        diskThreads.stop()
        writer.stop()
    }

    /// Finishes the waiting operations, writes pending hits and renewed expiry dates, makes a checkpoint and closes the
    /// index. Blocks, so it must not be called from a completion. Later operations end with ``DiskCacheError/closed``.
    package func close() {
        diskThreads.stop()
        writer.close()
    }

    /// Runs `work` on a thread that may wait for the disk. After ``close()``, runs it at once on the caller's thread.
    package func onDiskThread(_ work: @escaping @Sendable () -> Void) {
        diskThreads.run(work)
    }

    package var directory: String { parts.bodies.directory }

    /// The path of a new entry's body, if no other file is there. `nil` if the body may go into the slab: in the hashed
    /// layout, with a ``CacheConfiguration/inlineLimit`` above 0. `url` is canonical; `nil` for a caller's own key.
    package func expectedPath(of key: CacheKey, url: String?) -> String? {
        guard configuration.layout == .readable || configuration.inlineLimit == 0 else { return nil }
        return parts.bodies.absolute(configuration.layout.path(for: key, url: url))
    }

    /// Asks the file system whether the directory and its index are still the files that were opened. Otherwise all
    /// writes end with ``DiskCacheError/indexLost(path:)``; the entries can still be read.
    package var isInPlace: Bool { parts.index.isInPlace }
    /// The totals as of the last commit. Reading them costs no I/O.
    package var totals: CacheTotals { parts.totals.withLock { $0 } }

    /// Counts all entries of a removed or emptied namespace as purged. Later removals of its entries do not count.
    package func countAllAsPurged() { parts.removals.retire(holding: totals.entriesByKind) }

    package var memoryStatistics: MemoryStatistics {
        var statistics = parts.memory.statistics
        statistics.hits += UInt64(hitsAtHand)
        return statistics
    }

    /// The hits that ready answers served; see ``HotEntry/recordHit(at:)``.
    package var hitsAtHand: Int { Int(parts.hits.countedHits) }

    /// `reserve`: the bytes that must stay free; `free`: the free bytes. `nil` when the file system cannot be queried.
    package var diskSpace: (reserve: Int64, free: Int64)? {
        guard let space = FileSystem.space(at: parts.bodies.directory) else { return nil }
        return (configuration.diskReserve.floor(ofSize: space.size), space.free)
    }

    /// Writes pending hits and expiry dates to the index. `completion` is called once all earlier changes are durable.
    package func flush(completion: @escaping Completion<Void>) {
        writer.submit({ context in _ = try context.flushHits() }, completion: completion)
    }

    package var diskLimit: Int64 { parts.budget.limit }
    /// The bytes that count against ``diskLimit``: `all` is the size of the committed entries and of the room promised
    /// to bodies that are being received. `pinned` is the size of the committed entries that are never evicted.
    package var takenDiskBytes: (all: Int64, pinned: Int64) { parts.budget.taken }

    /// Changes the limit, and evicts the excess in the background, in small steps. Pinned entries stay in any case.
    package func setDiskLimit(_ bytes: Int64) {
        parts.budget.setLimit(bytes)
        evictExcess()
    }

    private func evictExcess() {
        guard parts.budget.used > parts.budget.limit else { return }
        writer.submit(makesRoom: true, { try $0.evictExcess() }) { [weak self] result in
            // Stops after a step that removed no entry: no other entry may be evicted. The next store tries again.
            if case .success(let count) = result, count > 0 { self?.evictExcess() }
        }
    }

    package var memoryLimit: Int { parts.memory.limit }

    /// Sets ``memoryLimit`` and ``currentMemoryLimit``. Evicted entries stay on disk. Only one thread may set limits.
    package func setMemoryLimit(_ bytes: Int) {
        let hasChanged = bytes != memoryLimit
        parts.memory.setLimit(bytes)
        if hasChanged {
            parts.slotTable.empty(memoryLimit: CacheParts.slotTableLimit(ofMemory: bytes))
        }
    }

    /// ``memoryLimit``, or less while memory is short.
    package var currentMemoryLimit: Int { parts.memory.currentLimit }

    /// Sets ``currentMemoryLimit``. Evicted entries stay on disk. Only one thread may set limits.
    package func setCurrentMemoryLimit(_ bytes: Int) {
        parts.memory.setCurrentLimit(bytes)
    }

    /// Evicts entries from memory until the tier holds at most `target` bytes. Returns the bytes freed.
    @discardableResult
    package func trimMemory(toBytes target: Int) -> Int {
        parts.memory.trim(toBytes: target)
    }

    /// Frees page caches, write buffers and the slot table. Waits for the writer: never call it from a completion.
    package func releaseWorkingMemory() {
        parts.bodies.writeBuffers.trim()
        parts.slotTable.empty()
        parts.index.releaseReadersMemory()
        try? writer.perform { context in context.index.db.releaseMemory() }
    }

    package var life: CacheLife { CacheLife(parts: parts) }

    /// In the background, removes the useless expired entries and the bodies without rows, and checks some bodies.
    package func maintain(completion: @escaping @Sendable () -> Void) {
        let log = parts.log
        parts.bodies.writeBuffers.trim()
        let wholeTree = parts.index.startedEmpty && !parts.treeWasSearched.withLock { $0 }
        sweepExpired { [scrubber, parts] result in
            Self.log(result, "expired entries could not be removed", log)
            scrubber.step(wholeTree: wholeTree) { result in
                if case .success = result { parts.treeWasSearched.withLock { $0 = true } }
                Self.log(result, "bodies could not be checked", log)
                completion()
            }
        }
    }

    private static func log<Value>(
        _ result: Result<Value, DiskCacheError>, _ message: String, _ log: (DiskCacheNotice) -> Void
    ) {
        if case .failure(let error) = result, error != .closed {
            log(DiskCacheNotice(.warning, message, ["reason": "\(error)"]))
        }
    }
}

/// Tells whether a namespace is still open, and how much disk space it takes, without keeping it open.
package struct CacheLife: Sendable {
    fileprivate weak let parts: CacheParts?

    /// Whether the namespace has no user any more, so that its files are closed.
    package var isOver: Bool { parts == nil }
    package var takenDiskBytes: Int64? { parts?.budget.taken.all }
}
