import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("A leader that hangs")
struct GatewayPatienceTests {
    @Test("Followers of a leader that hangs ask the origin themselves after a while")
    func followers() async throws {
        let hanging = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try hanging.waitBlocking() }
            // Otherwise the last request might find the answer to the first request in the cache.
            try connection.respond(fields: [.cacheControl: "no-store"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestGateway.with(patience: .milliseconds(50)) { (gateway) async throws in
            let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
            let answered = Counter("answers")
            gateway.fetch(request) { _ in answered.add() }
            try await origin.waitForRequests(1)
            for _ in 0..<3 { gateway.fetch(request) { _ in answered.add() } }
            // Each follower asks the origin itself, and no follower waits for the leader.
            try await answered.wait(for: 3)
            #expect(!hanging.isOpen)
            hanging.open()
            try await answered.wait(for: 4)
            #expect(origin.requestCount == 4)
        }
    }
}
