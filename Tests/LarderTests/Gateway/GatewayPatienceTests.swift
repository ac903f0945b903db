import DiskCache
import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("A leader that hangs")
struct GatewayPatienceTests {
    @Test("does not hang its followers: after a while each is on its own")
    func followers() async throws {
        let hanging = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try hanging.waitBlocking() }
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "\(request.index)")
        }
        defer { origin.stop() }
        let temporary = try TemporaryDirectory("larder-gateway")
        let cache = try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: DiskCache.Configuration())
        defer { cache.close() }
        var configuration = OriginClient.Configuration()
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.1")])
        let client = OriginClient(configuration: configuration)
        defer { client.shutDown() }
        let gateway = Gateway(
            tools: FetchFlight.Tools(
                cache: cache, origin: client, clock: SystemClock(), metrics: ServiceMetrics(), entryLimit: 1 << 20),
            patience: .milliseconds(50))
        let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
        let answered = Counter("answers")
        gateway.fetch(request) { _ in answered.add() }
        try await origin.waitForRequests(1)
        for _ in 0..<3 { gateway.fetch(request) { _ in answered.add() } }
        // The first of them that asks brings an answer for all; nobody waits for the one that hangs.
        try await answered.wait(for: 3)
        #expect(!hanging.isOpen)
        hanging.open()
        try await answered.wait(for: 4)
        #expect(origin.requestCount >= 2)
    }
}
