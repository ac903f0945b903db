import DiskCache
import Logging
import Origin
import Primitives

/// The service: the cache of a directory, the downloads that fill it, and what they count.
public final class LarderService: Sendable {
    /// The name of the namespace that a request without one means.
    public static let defaultNamespace = "default"

    /// What the service was configured with.
    public let configuration: Configuration
    /// The cache of the default namespace.
    public let cache: DiskCache
    /// The downloads into it.
    public let downloads: DownloadManager
    /// The gateway in front of any URL.
    public let gateway: Gateway
    /// What gives memory back.
    public let memory: MemoryKeeper
    /// What the service counts.
    public let metrics = ServiceMetrics()
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
    /// - Throws: ``DiskCacheError`` when the directory cannot be used.
    public init(
        configuration: Configuration, clock: any WallClock = SystemClock(), logger: Logger,
        memoryPressure: MemoryPressureFiles = MemoryPressureFiles()
    ) throws {
        self.configuration = configuration
        self.clock = clock
        startDate = clock.now()
        directory = try CacheDirectory(path: configuration.directory)
        var cacheConfiguration = DiskCache.Configuration()
        cacheConfiguration.namespace = Self.defaultNamespace
        cacheConfiguration.layout = configuration.layout
        cacheConfiguration.inlineLimit = Int64(configuration.inlineLimit)
        cacheConfiguration.durability = configuration.durability
        cacheConfiguration.diskLimit = Int64(configuration.diskLimit)
        cacheConfiguration.diskReserve = configuration.diskReserve
        cacheConfiguration.entryLimit = Int64(configuration.entryLimit)
        cacheConfiguration.memoryLimit = configuration.memoryLimit
        cacheConfiguration.defaultTTL = configuration.defaultTTL
        cache = try DiskCache(in: directory, configuration: cacheConfiguration, clock: clock) { notice in
            logger.log(notice)
        }
        var originConfiguration = OriginClient.Configuration()
        originConfiguration.schemes = configuration.schemes
        let limits = TransferLimits(
            descriptors: DescriptorLimit.current, maxDownloads: configuration.maxDownloads,
            maxDownloadsPerHost: configuration.maxDownloadsPerHost)
        if limits.downloads < configuration.maxDownloads {
            logger.warning(
                "fewer downloads at once than configured: raise the limit of open files",
                metadata: [
                    "files": "\(DescriptorLimit.current)", "maxDownloads": "\(configuration.maxDownloads)",
                    "downloads": "\(limits.downloads)", "fetches": "\(limits.gateway)",
                ])
        }
        clientLimit = limits.clients
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
        downloads = DownloadManager(
            tools: Flight.Tools(
                cache: cache, origin: origin, clock: clock, metrics: metrics, defaultTTL: configuration.defaultTTL,
                entryLimit: Int64(configuration.entryLimit)),
            schemes: configuration.schemes)
        gateway = Gateway(
            tools: FetchFlight.Tools(
                cache: cache, origin: gatewayOrigin, clock: clock, metrics: metrics,
                entryLimit: Int64(configuration.entryLimit)))
        // Last, for its thread runs until it is stopped.
        memory = MemoryKeeper(cache, watching: memoryPressure, logger: logger)
    }

    /// The time since the service was opened, whatever became of the wall clock.
    public var uptime: Duration { ContinuousClock.now - start }

    /// How many transfers run, and how many wait for their turn.
    public var transferCounts: (running: Int, queued: Int) { origin.transferCounts }

    /// The process listens on a port from now on: no origin is asked there.
    public func listens(on port: UInt16) {
        ownSockets.add(port: port)
    }

    /// Periodic upkeep, until the task is cancelled: expired entries go, head-room is kept, a slice is scrubbed, and
    /// memory that a crowd of slow clients has left behind goes back to the system.
    public func maintain(every interval: Duration = .seconds(60)) async {
        while !Task.isCancelled {
            await withCheckedContinuation { continuation in
                cache.maintain { continuation.resume() }
            }
            FreeMemory.giveBack()
            try? await Task.sleep(for: interval)
        }
    }

    /// Cancels downloads, flushes and closes the cache, and releases the directory's lock. Blocks.
    public func close() {
        downloads.stop()
        gateway.stop()
        memory.stop()
        origin.shutDown()
        gatewayOrigin.shutDown()
        cache.close()
        directory.unlock()
    }
}

extension Logger {
    fileprivate func log(_ notice: DiskCacheNotice) {
        let level: Logger.Level =
            switch notice.level {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        log(level: level, "\(notice.message)", metadata: notice.metadata.mapValues { .string($0) })
    }
}
