import Dispatch
import Primitives

/// One namespace of the cache: entries with their bodies, on disk and in memory.
///
/// Everything may be called on any thread. What reads is synchronous and short: at most one look-up in the index and
/// one file of up to a mebibyte. A thread that must not wait for the disk says so, and is told to come back on another
/// (``onDiskThread(_:)``) when something is not in memory. What writes takes a completion, which is called once the
/// change is durable (see ``Durability``), on the writer's thread: it must not wait.
///
/// - The writer's thread (``Writer``) makes every change on disk.
/// - A body comes in through a ``Reservation``, whatever its kind.
/// - What this type promises about purges and crashes is explained in ``FlightTable`` and in
///   `Writer/WriteContext+Bodies.swift`.
public final class DiskCache: Sendable {
    /// What the namespace was opened with.
    public let configuration: Configuration
    let parts: CacheParts
    let writer: Writer
    let verifier: Verifier
    let scrubber: Scrubber
    let diskThreads: DiskThreads

    /// Opens the namespace's directory, and creates it when it is missing.
    ///
    /// An index that cannot be read is set aside under a dated name, which `log` is told; the cache then starts empty.
    /// What a crash left half done is finished or undone.
    ///
    /// - Parameters:
    ///   - directory: holds the lock; it is kept as long as this object lives.
    ///   - configuration: how bodies are kept, and the limits.
    ///   - clock: decides what is fresh.
    ///   - observer: is told what becomes of entries; nobody by default.
    ///   - removals: counts entries that leave; several caches may have the same.
    ///   - log: is told what an operator should know; on any thread.
    /// - Throws: ``DiskCacheError/invalidNamespace(_:)``, ``DiskCacheError/notACache(directory:)``,
    ///   ``DiskCacheError/newerFormat(found:supported:)``, ``DiskCacheError/fileSystem(operation:path:errno:)``,
    ///   ``DiskCacheError/noSpace``, ``DiskCacheError/index(code:message:)``.
    public convenience init(
        in directory: CacheDirectory, configuration: Configuration, clock: any WallClock = SystemClock(),
        observer: (any EntryObserver)? = nil, removals: RemovalCounters = RemovalCounters(),
        log: @escaping @Sendable (DiskCacheNotice) -> Void = { _ in }
    ) throws(DiskCacheError) {
        try self.init(
            in: directory, configuration: configuration, clock: clock, observer: observer, removals: removals, log: log,
            crashHook: { _ in })
    }

    /// ``init(in:configuration:clock:observer:removals:log:)`` with a hook that is called at every ``CrashPoint``, and
    /// with what is called to have the disk keep bodies.
    init(
        in directory: CacheDirectory, configuration: Configuration, clock: any WallClock,
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
        try Recovery.run(parts, loop)
        try MovedBodies.run(parts, loop)
        writer = Writer(parts, loop: loop)
        verifier = Verifier(parts, writer: writer)
        scrubber = Scrubber(parts, writer: writer, verifier: verifier)
    }

    /// Without ``close()`` the same happens once nobody holds this object any more, but in the background.
    deinit {
        diskThreads.stop()
        writer.stop()
    }

    /// Finishes what waits, writes hits and slides down, makes a checkpoint and closes the index. Blocks; never call it
    /// from a completion. Whatever is called after it ends with ``DiskCacheError/closed``.
    public func close() {
        diskThreads.stop()
        writer.close()
    }

    /// Runs something soon on a thread that may wait for the disk; once closed, at once on the caller's.
    public func onDiskThread(_ work: @escaping @Sendable () -> Void) {
        diskThreads.run(work)
    }

    /// The path of the namespace's own directory.
    public var directory: String { parts.bodies.directory }

    /// Where the body of an entry that is not there yet would be, if nothing else is in its place; `nil` in the hashed
    /// layout, where a small one comes into the slab, unless every body is a file.
    ///
    /// - Parameter url: the canonical URL; `nil` for a caller's own key.
    public func expectedPath(of key: CacheKey, url: String?) -> String? {
        guard configuration.layout == .readable || configuration.inlineLimit == 0 else { return nil }
        return parts.bodies.absolute(configuration.layout.path(for: key, url: url))
    }

    /// Whether the directory and the index in it are still those that were opened. When somebody removed or replaced
    /// them, all that writes ends with ``DiskCacheError/indexLost(path:)``; what is held can still be read. Asks the
    /// file system.
    public var isInPlace: Bool { parts.index.isInPlace }

    /// What there is, as of the last commit. Costs nothing.
    public var totals: CacheTotals { parts.totals.withLock { $0 } }

    /// What the memory tier holds, and its hits and misses.
    public var memoryStatistics: MemoryStatistics {
        var statistics = parts.memory.statistics
        statistics.hits += UInt64(hitsAtHand)
        return statistics
    }

    /// How many hits were answered by what was kept at hand; see ``HotEntry/recordHit(at:)``.
    public var hitsAtHand: Int { Int(parts.access.countedHits) }

    /// How much of the file system has to stay free, and how much is, in bytes; `nil` when it cannot be asked.
    public var diskSpace: (reserve: Int64, free: Int64)? {
        guard let space = FileSystem.space(at: parts.bodies.directory) else { return nil }
        return (configuration.diskReserve.floor(ofSize: space.size), space.free)
    }

    /// Writes hits, last accesses and slides down; `completion` comes once that is durable, and so is all that was
    /// asked for before.
    public func flush(completion: @escaping @Sendable (Result<Void, DiskCacheError>) -> Void) {
        writer.submit({ context in _ = try context.flushAccess() }, completion: completion)
    }

    /// ``flush(completion:)``, and waits.
    public func flush() async throws(DiskCacheError) {
        try await withCheckedContinuation { continuation in
            flush { continuation.resume(returning: $0) }
        }.get()
    }
}
