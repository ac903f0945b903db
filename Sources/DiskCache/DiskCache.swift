import Dispatch
import Primitives

/// A namespace of the cache: entries with their bodies, on disk and in memory.
///
/// All methods may be called on any thread. Reads are synchronous and short: at most a look-up in the index and a file
/// of up to a mebibyte. A thread that must not wait for the disk passes `mayWait: false`; when the disk is needed, it
/// calls again on another thread (``onDiskThread(_:)``). Writes take a completion, which is called on the writer's
/// thread once the change is durable (see ``Durability``). A completion must not wait.
///
/// - The writer's thread (``Writer``) changes the index and the published files.
/// - Every body is received through a ``Reservation``.
/// - ``PendingStores`` explains the promises about purges, `WriteContext+Bodies.swift` the promises about crashes.
package final class DiskCache: Sendable {
    package let configuration: CacheConfiguration
    let parts: CacheParts
    let writer: Writer
    let verifier: Verifier
    let scrubber: Scrubber
    let diskThreads: DiskThreads

    /// Opens the directory of the namespace, and creates it when it is missing. The lock of the cache directory is kept
    /// as long as this object lives. An unreadable index is set aside under a dated name, with a notice to `log`, and
    /// the cache starts empty. Changes that a crash left half done are finished or undone.
    package convenience init(
        in directory: CacheDirectory, configuration: CacheConfiguration, clock: any WallClock = SystemClock(),
        observer: (any EntryObserver)? = nil, removals: RemovalCounters = RemovalCounters(),
        log: @escaping @Sendable (DiskCacheNotice) -> Void = { _ in }
    ) throws(DiskCacheError) {
        try self.init(
            in: directory, configuration: configuration, clock: clock, observer: observer, removals: removals, log: log,
            crashHook: { _ in })
    }

    /// Serves tests: `crashHook` is called at every ``CrashPoint``.
    init(
        in directory: CacheDirectory, configuration: CacheConfiguration, clock: any WallClock,
        observer: (any EntryObserver)? = nil, removals: RemovalCounters = RemovalCounters(),
        log: @escaping @Sendable (DiskCacheNotice) -> Void,
        crashHook: @escaping @Sendable (CrashPoint) throws -> Void, sync: FileSync = .system
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

    /// Does the work of ``close()`` in the background, if the last reference goes without a call of it.
    deinit {
        diskThreads.stop()
        writer.stop()
    }

    /// Finishes the waiting operations, writes hits and slides, makes a checkpoint and closes the index. Blocks, so it
    /// must not be called from a completion. Later operations end with ``DiskCacheError/closed``.
    package func close() {
        diskThreads.stop()
        writer.close()
    }

    /// Runs `work` on a thread that may wait for the disk. After ``close()``, runs it at once on the caller's thread.
    package func onDiskThread(_ work: @escaping @Sendable () -> Void) {
        diskThreads.run(work)
    }

    package var directory: String { parts.bodies.directory }

    /// The path that the body of a new entry would get, if no other file is in its place. `nil` in the hashed layout,
    /// because a small body goes into the slab there; with ``CacheConfiguration/inlineLimit`` 0, that layout has paths,
    /// too. `url` is canonical; `nil` for a caller's own key.
    package func expectedPath(of key: CacheKey, url: String?) -> String? {
        guard configuration.layout == .readable || configuration.inlineLimit == 0 else { return nil }
        return parts.bodies.absolute(configuration.layout.path(for: key, url: url))
    }

    /// Whether the directory and its index are still the files that were opened. Otherwise all writes end with
    /// ``DiskCacheError/indexLost(path:)``; held entries can still be read. Asks the file system.
    package var isInPlace: Bool { parts.index.isInPlace }

    /// The totals as of the last commit. Reading them costs no I/O.
    package var totals: CacheTotals { parts.totals.withLock { $0 } }

    /// Counts all entries of the cache as purged, and ignores every later removal. The caller removed the namespace or
    /// began it anew, so the entries go with their directory.
    package func countAllAsPurged() { parts.removals.retire(holding: totals.entriesByKind) }

    package var memoryStatistics: MemoryStatistics {
        var statistics = parts.memory.statistics
        statistics.hits += UInt64(hitsAtHand)
        return statistics
    }

    /// The hits that were answered from answers kept at hand; see ``HotEntry/recordHit(at:)``.
    package var hitsAtHand: Int { Int(parts.hits.countedHits) }

    /// Bytes: `reserve` must stay free, `free` is free now. `nil` when the file system does not tell.
    package var diskSpace: (reserve: Int64, free: Int64)? {
        guard let space = FileSystem.space(at: parts.bodies.directory) else { return nil }
        return (configuration.diskReserve.floor(ofSize: space.size), space.free)
    }

    /// Writes pending hits and slides to the index. `completion` is called once all earlier changes are durable, too.
    package func flush(completion: @escaping @Sendable (Result<Void, DiskCacheError>) -> Void) {
        writer.submit({ context in _ = try context.flushHits() }, completion: completion)
    }
}
