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
    package let name: String
    /// The unique number of this object. A later namespace with the same name has another number.
    package let id: Int
    let cache: DiskCache
    package let entries: EntryService
    package let downloads: DownloadManager
    package let gateway: Gateway
    package let options: NamespaceOptions
    let events: NamespaceEvents
    package let listings = ListingLine()

    init(
        _ name: String, _ record: NamespaceRegistry.Record, diskLimit: Int64, memoryLimit: Int64, tools: Tools
    ) throws(DiskCacheError) {
        self.name = name
        id = record.generation
        let server = tools.configuration
        var configuration = CacheConfiguration()
        configuration.namespace = name
        configuration.generation = record.generation
        configuration.layout = record.settings.layout ?? server.layout
        configuration.inlineLimit = Int64(server.inlineLimit)
        configuration.durability = server.durability
        configuration.diskLimit = diskLimit
        configuration.diskReserve = server.diskReserve
        configuration.entryLimit = Int64(server.entryLimit)
        configuration.memoryLimit = Int(memoryLimit)
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

    struct Tools: Sendable {
        let directory: CacheDirectory
        let configuration: Configuration
        let clock: any WallClock
        let metrics: ServiceMetrics
        let origin: OriginClient
        /// Separate, so that requests through the gateway and downloads never wait for each other.
        let gatewayOrigin: OriginClient
        let namespaceLimit: Int
        let events: EventHub
        let downloadAllowances = DownloadManager.Allowances()
        let gateways = GatewayGroup()
        let logger: Logger
    }

    package var settings: NamespaceSettings { options.settings }
    package var layout: Layout { cache.configuration.layout }

    var place: NamespaceDirectory {
        NamespaceDirectory(namespace: name, generation: cache.configuration.generation)
    }

    func stop() {
        downloads.stop()
        gateway.stop()
    }
}

extension Logger {
    /// The default namespace is not named.
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
