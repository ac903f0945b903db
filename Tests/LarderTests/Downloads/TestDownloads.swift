import DiskCache
import Logging
import Origin
import Primitives
import TestSupport

@testable import Larder

extension DownloadManager {
    /// Runs `body` with a manager that has its own cache and its own client.
    static func withOne(
        hub: EventHub = EventHub(), _ body: (DownloadManager) async throws -> Void
    ) async throws {
        let temporary = try TemporaryDirectory("larder-downloads")
        let cache = try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: CacheConfiguration())
        defer { cache.close() }
        var configuration = OriginConfiguration()
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.1")])
        let client = OriginClient(configuration: configuration)
        defer { client.shutDown() }
        let clock = SystemClock()
        let downloads = DownloadManager(
            tools: FetchTools(
                cache: cache, origin: client, clock: clock, metrics: ServiceMetrics(), options: NamespaceOptions()),
            events: NamespaceEvents(hub: hub, namespace: "default", clock: clock), entryLimit: 1 << 20,
            schemes: ["http"], allowances: DownloadManager.Allowances(),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        defer { downloads.stop() }
        try await body(downloads)
    }
}
