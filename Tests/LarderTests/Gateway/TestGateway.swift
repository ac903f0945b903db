import DiskCache
import Origin
import Primitives
import TestSupport

@testable import Larder

/// A gateway with its own cache and its own client.
enum TestGateway {
    static func with<Result>(
        patience: Duration = .seconds(10), configure: (inout OriginConfiguration) -> Void = { _ in },
        _ body: (Gateway) async throws -> Result
    ) async throws -> Result {
        let temporary = try TemporaryDirectory("larder-gateway")
        var limits = CacheConfiguration()
        limits.entryLimit = 1 << 20
        let cache = try DiskCache(in: try CacheDirectory(path: temporary.path("cache")), configuration: limits)
        defer { cache.close() }
        var configuration = OriginConfiguration()
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.1")])
        configure(&configuration)
        let client = OriginClient(configuration: configuration)
        defer { client.shutDown() }
        return try await body(
            Gateway(
                tools: FetchTools(
                    cache: cache, origin: client, clock: SystemClock(), metrics: ServiceMetrics()),
                patience: patience))
    }
}
