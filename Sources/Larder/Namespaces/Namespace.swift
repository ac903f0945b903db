import DiskCache
import Logging
import Origin
import Primitives

/// A running namespace: its cache, its downloads and its gateway. It shares only the `Tools` and the memory limit with
/// other namespaces.
///
/// A namespace that is begun anew is a new object with a new ``id``. The old object still answers its pending requests,
/// and then ends.
package final class Namespace: Sendable {
    /// The name: `[a-z0-9-]{1,63}`.
    package let name: String
    /// The unique number of this object. A later namespace with the same name has another number.
    package let id: Int
    /// The cache of the entries.
    let cache: DiskCache
    /// The entries, for the routes.
    package let entries: EntryService
    /// The downloads into the cache.
    package let downloads: DownloadManager
    /// The gateway, which stores responses in the cache.
    package let gateway: Gateway
    /// The settings that apply now.
    package let options: NamespaceOptions
    /// Publishes the events of the namespace.
    let events: NamespaceEvents
    /// The queue of requests that may read many entries.
    package let listings = ListingLine()

    /// Opens the directory of the namespace, and creates a missing directory. Throws the errors of ``DiskCache``.
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
        if name != NamespaceName.default { configuration.footprint = .small }
        let events = NamespaceEvents(hub: tools.events, namespace: name, clock: tools.clock)
        self.events = events
        let logger = tools.logger.of(namespace: name)
        cache = try DiskCache(
            in: tools.directory, configuration: configuration, clock: tools.clock, observer: events,
            removals: tools.metrics.removals
        ) { logger.log($0) }
        options = NamespaceOptions(
            record.settings, serverTTL: server.defaultTTL, serverPolicy: tools.origin.configuration.addressPolicy)
        entries = EntryService(cache, clock: tools.clock, metrics: tools.metrics)
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

    /// The objects that all namespaces share.
    struct Tools: Sendable {
        let directory: CacheDirectory
        let configuration: Configuration
        let clock: any WallClock
        let metrics: ServiceMetrics
        let origin: OriginClient
        /// The client of the gateways. It is separate, so that requests through the gateway and downloads never wait
        /// for each other.
        let gatewayOrigin: OriginClient
        /// The highest permitted number of namespaces.
        let namespaceLimit: Int
        let events: EventHub
        let downloadAllowances = DownloadManager.Allowances()
        let gateways = GatewayGroup()
        let logger: Logger
    }

    /// The chosen settings.
    package var settings: NamespaceSettings { options.settings }

    /// The layout of the bodies on disk.
    package var layout: Layout { cache.configuration.layout }

    /// The directory of the namespace.
    var place: NamespaceDirectory {
        NamespaceDirectory(namespace: name, generation: cache.configuration.generation)
    }

    /// Refuses new requests, and ends the running requests.
    func stop() {
        downloads.stop()
        gateway.stop()
    }
}

extension Logger {
    /// A logger with the namespace in its metadata. The default namespace is not named.
    fileprivate func of(namespace: String) -> Logger {
        var logger = self
        if namespace != NamespaceName.default { logger[metadataKey: "namespace"] = .string(namespace) }
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
