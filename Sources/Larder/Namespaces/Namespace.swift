import Browser
import DiskCache
import Dispatch
import Logging
import Origin
import Primitives
import Synchronization

/// A running namespace. It shares only the `Tools` and the memory limit with other namespaces.
///
/// When a namespace gets a new version, a new object replaces it. The old object answers its pending requests.
package final class Namespace: Sendable {
    package let name: String
    /// The unique number of this object. A later namespace with the same name has another number.
    package let id: Int
    let cache: DiskCache
    package let entries: EntryService
    package let downloads: DownloadManager
    package let gateway: Gateway
    package let pages: PageManager
    package let viewer: PageViewer
    package let options: NamespaceOptions
    let events: NamespaceEvents
    package let listings = ListingLine()

    init(
        _ name: String, _ record: NamespaceRegistry.Record, _ quotas: NamespaceQuotas, tools: Tools
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
        configuration.diskLimit = quotas.disk[name] ?? 0
        configuration.diskReserve = server.diskReserve
        configuration.entryLimit = Int64(server.entryLimit)
        configuration.memoryLimit = Int(quotas.memory[name] ?? 0)
        configuration.isAnsweredByRecord = { $0.kind != .response && $0.contentFields.isEmpty }
        var logger = tools.logger
        if name != NamespaceName.default {
            configuration.footprint = .small
            logger[metadataKey: "namespace"] = .string(name)
        }
        let events = NamespaceEvents(hub: tools.events, namespace: name, clock: tools.clock)
        self.events = events
        cache = try DiskCache(
            in: tools.directory, configuration: configuration, clock: tools.clock, observer: events,
            removals: tools.metrics.removals
        ) { [logger] in logger.log($0) }
        options = NamespaceOptions(
            record.settings, serverTTL: server.defaultTTL, serverPolicy: tools.origin.configuration.addressPolicy)
        let pauses = HostPauses(logger: logger)
        entries = EntryService(cache: cache, metrics: tools.metrics)
        downloads = DownloadManager(
            tools: FetchTools(
                cache: cache, origin: tools.origin, clock: tools.clock, metrics: tools.metrics, options: options,
                pending: tools.pending, pauses: pauses),
            events: events, entryLimit: Int64(server.entryLimit), schemes: server.schemes,
            allowances: tools.downloadAllowances, logger: logger)
        gateway = Gateway(
            tools: FetchTools(
                cache: cache, origin: tools.gatewayOrigin, clock: tools.clock, metrics: tools.metrics,
                options: options),
            group: tools.gateways)
        pages = PageManager(
            tools: FetchTools(
                cache: cache, origin: tools.origin, clock: tools.clock, metrics: tools.metrics, options: options,
                pauses: pauses),
            directory: tools.directory.path, events: events, schemes: server.schemes, browsers: tools.browsers,
            logger: logger)
        viewer = PageViewer(cache: cache, clock: tools.clock, metrics: tools.metrics.pages)
    }

    struct Tools: Sendable {
        let directory: CacheDirectory
        let configuration: Configuration
        let clock: any WallClock
        let metrics: ServiceMetrics
        let origin: OriginClient
        /// A separate client, so that requests through the gateway and downloads never wait for each other.
        let gatewayOrigin: OriginClient
        let namespaceLimit: Int
        let events: EventHub
        let downloadAllowances = DownloadManager.Allowances()
        let gateways = GatewayGroup()
        /// `nil`: this server has no browser.
        let browsers: BrowserPool?
        /// The keys with changes of the outbox that readers see.
        let pending: PendingKeys
        let logger: Logger
    }

    package var settings: NamespaceSettings { options.settings }
    package var layout: Layout { cache.configuration.layout }

    var place: NamespaceDirectory { NamespaceDirectory(namespace: name, generation: cache.configuration.generation) }

    func stop() {
        downloads.stop()
        gateway.stop()
        pages.stop()
    }
}

extension Logger {
    fileprivate func log(_ notice: DiskCacheNotice) {
        let metadata = notice.metadata.mapValues { value -> MetadataValue in
            switch value {
            case .text(let text): .string(text)
            case .number(let number): .number(number)
            }
        }
        // Each level of a notice has the name of a level of the log.
        log(level: Logger.Level(rawValue: notice.level.rawValue) ?? .error, "\(notice.message)", metadata: metadata)
    }
}

/// A namespace that was removed or got a new version, until its directory is removed. It still answers requests.
///
/// 1. Requests hold the ``Namespace``. While any request holds it, all work goes on. No later request finds the entries
///    that this work stores in the old directory.
/// 2. Then downloads and gateway fetches without a waiter are cancelled. The other downloads and fetches may finish.
/// 3. Then the last reference to the cache is released, which closes the cache.
/// 4. Then the directory is removed.
///
/// `@unchecked Sendable` is safe because `parts` and `hits` have their locks, `wasReported` belongs to the table's
/// `removals` queue, and all other mutable state belongs to the table's `queue`.
final class RetiredNamespace: @unchecked Sendable {
    private struct Parts {
        let cache: DiskCache
        let downloads: DownloadManager
        let gateway: Gateway
        let pages: PageManager
    }

    let place: NamespaceDirectory
    /// The bytes on disk at the last step. They may grow, because downloads with waiters go on.
    private(set) var diskBytes: Int64
    var isBeingRemoved = false
    /// Whether the log has reported that the directory cannot be removed.
    var wasReported = false
    private let life: CacheLife
    private weak var namespace: Namespace?
    /// `nil` when all work has ended.
    private let parts: Locked<Parts?>
    private var steps = 0
    private let hits = Locked(0)

    init(_ namespace: Namespace) {
        place = namespace.place
        life = namespace.cache.life
        diskBytes = namespace.cache.takenDiskBytes.all
        parts = Locked(
            Parts(
                cache: namespace.cache, downloads: namespace.downloads, gateway: namespace.gateway,
                pages: namespace.pages))
        self.namespace = namespace
    }

    var cache: DiskCache? { parts.withLock { $0?.cache } }
    func hitsAtHand() -> Int {
        hits.withLock { hits in
            if let cache { hits = cache.hitsAtHand }
            return hits
        }
    }

    /// Advances through the phases as far as possible. Returns whether the directory may be removed now.
    func step() -> Bool {
        diskBytes = life.takenDiskBytes ?? diskBytes
        if let running = parts.withLock({ $0 }) { step(running) }
        return parts.withLock { $0 == nil } && life.isOver && !isBeingRemoved
    }

    private func step(_ running: Parts) {
        if namespace == nil {
            running.downloads.endUnawaited()
            running.gateway.endUnread()
            running.pages.stop()
            if running.downloads.runningCount == 0, running.gateway.fetchCount == 0, running.pages.runningCount == 0 {
                _ = hitsAtHand()
                return parts.withLock { $0 = nil }
            }
        }
        steps += 1
        // Every step after the first removes all entries, because old requests may store entries for a long time.
        if steps > 1, running.cache.totals.entries > 0 {
            running.cache.remove(matching: [.all], removesHeld: true) { _ in }
        }
    }

    func stop() {
        let running = parts.withLock { $0 }
        running?.downloads.stop()
        running?.gateway.stop()
        running?.pages.stop()
    }
}

/// A namespace's bounded queue for requests that read many entries, on a thread that serves no connections.
package final class ListingLine: Sendable {
    /// The most requests, including the running one.
    package static let limit = 64

    private let queue = DispatchQueue(label: "larder.listings")
    private let count = Atomic<Int>(0)

    /// Adds `work` to the queue. Returns `false`, without running `work`, when the queue is full.
    package func enter(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= Self.limit else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        queue.async { [self] in
            work()
            count.subtract(1, ordering: .relaxed)
        }
        return true
    }
}
