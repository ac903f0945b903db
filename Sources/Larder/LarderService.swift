import DiskCache
import Logging
import Origin
import Primitives

/// The service: the namespaces of a directory, the downloads that fill them, and what they count.
public final class LarderService: Sendable {
    /// The name of the namespace that a request without one means.
    public static let defaultNamespace = "default"

    /// What the service was configured with.
    public let configuration: Configuration
    /// The caches, and what fills them.
    public let namespaces: NamespaceTable
    /// What gives memory back.
    public let memory: MemoryKeeper
    /// What the service counts.
    public let metrics = ServiceMetrics()
    /// Tells what happens.
    public let events: EventHub
    /// Where "now" comes from.
    public let clock: any WallClock
    /// How many connections clients may have at once: what requests to origins and files leave of the descriptors.
    public let clientLimit: Int
    /// When the service was opened.
    public let startDate: Timestamp

    /// Since when, by a clock that nobody sets.
    private let start = ContinuousClock.now
    private let directory: CacheDirectory
    private let ownSockets = OwnSockets()
    private let origin: OriginClient
    /// Requests through the gateway do not wait for downloads, nor downloads for them.
    private let gatewayOrigin: OriginClient

    /// Opens the cache directory, which takes its lock, and starts the client of the origins.
    ///
    /// - Parameters:
    ///   - memoryPressure: what says that memory is short; none by default.
    ///   - eventLimits: what listening may take, but for how many may listen, which the configuration says.
    /// - Throws: ``DiskCacheError`` when the directory cannot be used, ``NamespaceError`` when the namespaces cannot be
    ///   written down.
    public init(
        configuration: Configuration, clock: any WallClock = SystemClock(), logger: Logger,
        memoryPressure: MemoryPressureFiles = MemoryPressureFiles(), eventLimits: EventHub.Limits = EventHub.Limits()
    ) throws {
        self.configuration = configuration
        self.clock = clock
        startDate = clock.now()
        directory = try CacheDirectory(path: configuration.directory)
        var originConfiguration = OriginClient.Configuration()
        originConfiguration.schemes = configuration.schemes
        let limits = TransferLimits(
            descriptors: DescriptorLimit.current, maxDownloads: configuration.maxDownloads,
            maxDownloadsPerHost: configuration.maxDownloadsPerHost)
        if limits.downloads < configuration.maxDownloads {
            logger.warning(
                "fewer downloads at once than configured: raise the limit of open files",
                metadata: [
                    "files": .number(DescriptorLimit.current), "maxDownloads": .number(configuration.maxDownloads),
                    "downloads": .number(limits.downloads), "fetches": .number(limits.gateway),
                ])
        }
        clientLimit = limits.clients
        var eventLimits = eventLimits
        eventLimits.listeners = configuration.listeners(of: limits.clients)
        eventLimits.listenersPerClient = configuration.listenersPerClient(of: eventLimits.listeners)
        events = EventHub(eventLimits, clock: clock)
        originConfiguration.maxTransfers = limits.downloads
        originConfiguration.maxTransfersPerHost = limits.downloadsPerHost
        originConfiguration.certificateAuthorityFile = configuration.originAuthority
        originConfiguration.ownSockets = ownSockets
        originConfiguration.addressPolicy = AddressPolicy(
            allowing: configuration.allowedOrigins, denying: configuration.deniedOrigins,
            ports: configuration.originPorts.union(configuration.schemes.contains("ftp") ? [21] : []))
        origin = OriginClient(configuration: originConfiguration)
        originConfiguration.maxTransfers = limits.gateway
        originConfiguration.maxTransfersPerHost = limits.gatewayPerHost
        originConfiguration.queueTimeout = Gateway.defaultPatience
        gatewayOrigin = OriginClient(configuration: originConfiguration)
        // Its thread runs until it is stopped.
        memory = MemoryKeeper(limit: configuration.memoryLimit, watching: memoryPressure, logger: logger)
        do {
            namespaces = try NamespaceTable(
                tools: Namespace.Tools(
                    directory: directory, configuration: configuration, clock: clock, metrics: metrics,
                    origin: origin, gatewayOrigin: gatewayOrigin, namespaceLimit: limits.namespaces, events: events,
                    logger: logger),
                memory: memory)
        } catch {
            memory.stop()
            if case .cache(let error) = error { throw error }
            throw error
        }
    }

    /// The time since the service was opened, whatever became of the wall clock.
    public var uptime: Duration { ContinuousClock.now - start }

    /// How many transfers run, and how many wait for their turn.
    public var transferCounts: (running: Int, queued: Int) { origin.transferCounts }

    /// The process listens on a port from now on: no origin is asked there.
    public func listens(on port: UInt16) {
        ownSockets.add(port: port)
    }

    /// Whether all directories are still those that were opened. Asks the file system.
    public var isInPlace: Bool { namespaces.all.allSatisfy(\.cache.isInPlace) }

    /// What there is in all namespaces, as of the last commits.
    public var totals: CacheTotals { namespaces.all.reduce(CacheTotals.none) { $0 + $1.cache.totals } }

    /// How much of the file system has to stay free, and how much is, in bytes; `nil` when it cannot be asked.
    public var diskSpace: (reserve: Int64, free: Int64)? { namespaces.default.cache.diskSpace }

    /// Periodic upkeep, until the task is cancelled: expired entries go, head-room is kept, a slice is scrubbed, and
    /// memory that a crowd of slow clients has left behind goes back to the system.
    public func maintain(every interval: Duration = .seconds(60)) async {
        while !Task.isCancelled {
            for namespace in namespaces.all {
                await withCheckedContinuation { continuation in
                    namespace.cache.maintain { continuation.resume() }
                }
                namespace.downloads.forgetEnded()
            }
            FreeMemory.giveBack()
            try? await Task.sleep(for: interval)
        }
    }

    /// Cancels downloads, flushes and closes the caches, and releases the directory's lock. Blocks.
    public func close() {
        events.stop()
        namespaces.stop()
        memory.stop()
        origin.shutDown()
        gatewayOrigin.shutDown()
        namespaces.close()
        directory.unlock()
    }
}
