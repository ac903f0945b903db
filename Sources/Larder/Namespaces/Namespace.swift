import DiskCache
import Logging
import Origin
import Primitives

/// A namespace as it runs: its cache, and what fills it. Nothing of it is shared with another but the threads that ask
/// origins, and what is counted.
///
/// One that is begun anew is another object, with another ``id``; the old one answers whom it was asked by, and ends.
public final class Namespace: Sendable {
    /// `[a-z0-9-]{1,63}`.
    public let name: String
    /// No other has it, not even one of the same name.
    public let id: Int
    /// Its entries.
    public let cache: DiskCache
    /// The downloads into it.
    public let downloads: DownloadManager
    /// The gateway that keeps what it may in it.
    public let gateway: Gateway
    /// What was chosen of it.
    public let options: NamespaceOptions
    /// What happens in it.
    let events: NamespaceEvents
    /// Those who ask for something that may look at many entries.
    public let listings = ListingLine()

    /// Opens the namespace's directory, and creates it when it is missing. Throws what ``DiskCache`` throws.
    init(
        _ name: String, _ record: NamespaceRegistry.Record, diskLimit: Int64, memoryLimit: Int64, tools: Tools
    ) throws(DiskCacheError) {
        self.name = name
        id = record.generation
        let server = tools.configuration
        var configuration = DiskCache.Configuration()
        configuration.namespace = name
        configuration.generation = record.generation
        configuration.layout = record.settings.layout ?? server.layout
        configuration.inlineLimit = Int64(server.inlineLimit)
        configuration.durability = server.durability
        configuration.diskLimit = diskLimit
        configuration.diskReserve = server.diskReserve
        configuration.entryLimit = Int64(server.entryLimit)
        configuration.memoryLimit = Int(memoryLimit)
        configuration.defaultTTL = server.defaultTTL
        configuration.isAnsweredByRecord = { $0.kind != .response && $0.contentFields.isEmpty }
        if name != LarderService.defaultNamespace { configuration.footprint = .small }
        let events = NamespaceEvents(hub: tools.events, namespace: name, clock: tools.clock)
        self.events = events
        let logger = tools.logger.of(namespace: name)
        cache = try DiskCache(
            in: tools.directory, configuration: configuration, clock: tools.clock, observer: events,
            removals: tools.metrics.removals
        ) { logger.log($0) }
        options = NamespaceOptions(
            record.settings, serverTTL: server.defaultTTL, serverPolicy: tools.origin.configuration.addressPolicy)
        downloads = DownloadManager(
            tools: Flight.Tools(
                cache: cache, origin: tools.origin, clock: tools.clock, metrics: tools.metrics, options: options,
                events: events, entryLimit: Int64(server.entryLimit), logger: logger),
            schemes: server.schemes, allowances: tools.downloadAllowances)
        gateway = Gateway(
            tools: FetchFlight.Tools(
                cache: cache, origin: tools.gatewayOrigin, clock: tools.clock, metrics: tools.metrics,
                options: options),
            group: tools.gateways)
    }

    /// What all namespaces work with.
    struct Tools: Sendable {
        let directory: CacheDirectory
        let configuration: Configuration
        let clock: any WallClock
        let metrics: ServiceMetrics
        let origin: OriginClient
        /// Requests through the gateway do not wait for downloads, nor downloads for them.
        let gatewayOrigin: OriginClient
        /// How many namespaces there may be.
        let namespaceLimit: Int
        let events: EventHub
        let downloadAllowances = DownloadManager.Allowances()
        let gateways = GatewayGroup()
        let logger: Logger
    }

    /// What was chosen of it.
    public var settings: NamespaceSettings { options.settings }

    /// How bodies are kept.
    public var layout: Layout { cache.configuration.layout }

    /// Its directory.
    var place: NamespaceDirectory {
        NamespaceDirectory(namespace: name, generation: cache.configuration.generation)
    }

    /// Refuses what is asked from now on, and ends what runs.
    func stop() {
        downloads.stop()
        gateway.stop()
    }
}

extension Logger {
    /// One whose lines name the namespace, but for the default one.
    fileprivate func of(namespace: String) -> Logger {
        var logger = self
        if namespace != LarderService.defaultNamespace { logger[metadataKey: "namespace"] = .string(namespace) }
        return logger
    }

    fileprivate func log(_ notice: DiskCacheNotice) {
        let level: Logger.Level =
            switch notice.level {
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        let metadata = notice.metadata.mapValues { value -> MetadataValue in
            switch value {
            case .text(let text): .string(text)
            case .number(let number): .number(number)
            }
        }
        log(level: level, "\(notice.message)", metadata: metadata)
    }
}
