import Browser
import DiskCache
import Foundation
import Logging
import Origin
import Primitives

/// The caching service: namespaces, the outbox, subscriptions, clients of the origins, metrics and events.
package final class LarderService: Sendable {
    package let configuration: Configuration
    package let namespaces: NamespaceTable
    package let outbox: OutboxService
    package let subscriptions: SubscriptionService
    package let memory: MemoryKeeper
    package let metrics = ServiceMetrics()
    package let events: EventHub
    package let clock: any WallClock
    /// The greatest number of simultaneous connections of clients; see ``TransferLimits/clients``.
    package let clientLimit: Int
    package let startDate: Timestamp
    private let start = ContinuousClock.now
    private let directory: CacheDirectory
    private let ownSockets = OwnSockets()
    private let origin: OriginClient
    /// The gateway has its own client, so that requests through it and downloads never wait for each other.
    private let gatewayOrigin: OriginClient
    /// `nil`: pages are captured without running their scripts.
    private let browsers: BrowserPool?

    /// Locks the cache directory, and starts the clients of the origins. The configuration overrides the numbers of
    /// listeners in `eventLimits`. A transfer from an origin fails after `originSilenceLimit` without a byte. Throws
    /// ``DiskCacheError`` for the directory, ``NamespaceError`` for the registry.
    package init(
        configuration: Configuration, clock: any WallClock = SystemClock(), logger: Logger,
        memoryPressure: MemoryPressureFiles = MemoryPressureFiles(), eventLimits: EventHub.Limits = EventHub.Limits(),
        originSilenceLimit: Duration = .seconds(30)
    ) throws {
        self.configuration = configuration
        self.clock = clock
        startDate = clock.now()
        directory = try CacheDirectory(path: configuration.directory)
        var originConfiguration = OriginConfiguration()
        originConfiguration.stallTimeout = originSilenceLimit
        originConfiguration.schemes = configuration.schemes
        let limits = TransferLimits(
            descriptors: DescriptorLimit.current, maxDownloads: configuration.maxDownloads,
            maxDownloadsPerHost: configuration.maxDownloadsPerHost)
        if limits.downloads < configuration.maxDownloads {
            logger.warning(
                "the limit of open files allows fewer downloads than configured: raise it",
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
        browsers = configuration.browser.map {
            BrowserPool(
                BrowserLaunch(program: $0, user: configuration.browserUser),
                in: FileManager.default.temporaryDirectory.path)
        }
        // The keeper's thread runs until `stop()`, so a failure below must stop it.
        memory = MemoryKeeper(limit: configuration.memoryLimit, watching: memoryPressure, logger: logger)
        let pending = PendingKeys()
        do {
            namespaces = try NamespaceTable(
                tools: Namespace.Tools(
                    directory: directory, configuration: configuration, clock: clock, metrics: metrics,
                    origin: origin, gatewayOrigin: gatewayOrigin, namespaceLimit: limits.namespaces, events: events,
                    browsers: browsers, pending: pending, logger: logger),
                memory: memory)
        } catch {
            memory.stop()
            if case .cache(let error) = error { throw error }
            throw error
        }
        outbox = OutboxService(
            OutboxService.Tools(
                directory: configuration.stateDirectory,
                origin: OutboxService.clientConfiguration(origin.configuration),
                entryLimit: Int64(configuration.entryLimit), clock: clock, events: events, logger: logger,
                pending: pending,
                namespace: { [namespaces] name in namespaces.find(name)?.downloads.tools },
                version: { [namespaces] name in namespaces.find(name)?.settings.version }))
        outbox.start()
        subscriptions = SubscriptionService(
            SubscriptionService.Tools(
                directory: configuration.stateDirectory, entryLimit: Int64(configuration.entryLimit), clock: clock,
                events: events, logger: logger, namespaces: { [namespaces] in namespaces.all },
                namespace: { [namespaces] name in namespaces.find(name) },
                credential: { [outbox] name, namespace, then in outbox.credential(name, in: namespace, then: then) }))
        outbox.observeCredentials { [weak subscriptions] name, namespace in
            subscriptions?.credentialStored(name, in: namespace)
        }
        subscriptions.start()
    }

    /// The time since the start. A change of the wall clock has no effect, because another clock measures it.
    package var uptime: Duration { ContinuousClock.now - start }

    /// The numbers of running and of queued transfers from origins, for downloads and `/fetch` together.
    package var transferCounts: (running: Int, queued: Int) {
        let (own, gateways) = (origin.transferCounts, gatewayOrigin.transferCounts)
        return (own.running + gateways.running, own.queued + gateways.queued)
    }

    /// Records a port on which the process listens, so that no request to an origin can reach this process itself.
    package func listens(on port: UInt16) {
        ownSockets.add(port: port)
    }

    /// Whether the next start would find the directories and indexes that are open now. Asks the file system.
    package var isInPlace: Bool { namespaces.all.allSatisfy(\.cache.isInPlace) }
    /// The totals of all namespaces, as of their last commits.
    package var totals: CacheTotals { namespaces.all.reduce(CacheTotals.none) { $0 + $1.cache.totals } }
    /// The bytes that the file system must keep free, and the bytes that are free; `nil` when it does not report them.
    package var diskSpace: (reserve: Int64, free: Int64)? { namespaces.default.cache.diskSpace }

    /// Runs the upkeep of all namespaces until the task is cancelled. Also returns freed memory to the system.
    package func maintain(every interval: Duration = .seconds(60)) async {
        while !Task.isCancelled {
            for namespace in namespaces.all {
                await withCheckedContinuation { continuation in
                    namespace.cache.maintain { continuation.resume() }
                }
                namespace.downloads.forgetEnded()
            }
            outbox.maintain()
            subscriptions.maintain()
            FreeMemory.giveBack()
            try? await Task.sleep(for: interval)
        }
    }

    /// Ends all work and closes the namespaces. Blocks until all namespaces are closed.
    package func close() {
        events.stop()
        subscriptions.stop()
        outbox.stop()
        namespaces.stop()
        browsers?.stop()
        memory.stop()
        origin.shutDown()
        gatewayOrigin.shutDown()
        namespaces.close()
        directory.unlock()
    }
}
