import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Origin

/// Tests of late answers call the methods of ``GatewayFetch`` that receive an origin's answer, in a fixed order.
@Suite("Clients that wait for an origin beyond the time limit")
struct PatienceTests {
    private struct Weak: Sendable {
        weak let gateway: Gateway?
        weak let fetch: GatewayFetch?
    }

    private func head(maxAge: Int) -> OriginHead {
        OriginHead(
            status: 200, fields: [.contentLength: "8", .cacheControl: "max-age=\(maxAge)"], effectiveURL: "",
            declaredLength: 8, framing: .length, version: "1.1")
    }

    /// Runs `body` when two followers have waited for the first request beyond the time limit. One of the two has sent
    /// a second request, and the other waits for the answer to the second request.
    private func withLateFollowers(
        _ body: (Gateway, GatewayFetch, _ leader: Asker, _ followers: [Asker]) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        defer { origin.stop() }
        try await TestGateway.with(patience: .seconds(3600)) { (gateway) async throws in
            let url = try ExactURL(origin.url("/a"))
            let leader = Asker(gateway, url)
            try await origin.waitForRequests(1)
            let (fetch, followers) = try await lateFollowers(of: gateway, at: url)
            try await origin.waitForRequests(2)
            try await body(gateway, fetch, leader, followers)
            #expect(origin.requestCount == 2)
            gateway.stop()
        }
    }

    /// Two clients that join the first fetch, and reach the time limit at once.
    private func lateFollowers(
        of gateway: Gateway, at url: ExactURL
    ) async throws -> (fetch: GatewayFetch, followers: [Asker]) {
        let followers = [Asker(gateway, url), Asker(gateway, url)]
        try await poll("the clients to join the fetch") { gateway.tools.metrics.joins.value == 2 }
        let fetch = try #require(gateway.fetches.first)
        fetch.handle(.patienceEnded)
        try await poll("a client to join the second fetch") { gateway.tools.metrics.joins.value == 3 }
        return (fetch, followers)
    }

    @Test(
        "Followers that wait for a second request still get an answer to the first request, even if it is stale",
        arguments: [60, 1])
    func lateAnswer(maxAge: Int) async throws {
        try await withLateFollowers { _, fetch, leader, followers in
            try fetch.originDidAnswer(head(maxAge: maxAge))
            try Array("complete".utf8).withUnsafeBytes { try fetch.originDidSend($0) }
            #expect(leader.text == "complete")
            try await poll("the followers to get the answer") {
                followers.allSatisfy { $0.text == "complete" }
            }
        }
    }

    @Test("When the first request fails, the follower that sent a second request waits on; the other follower fails")
    func lateFailure() async throws {
        try await withLateFollowers { _, fetch, leader, followers in
            fetch.originDidFinish(.failure(OriginError(.timedOut(.waiting))))
            #expect(leader.isWhole == false)
            // The client that sent the second request waits for the answer to the second request.
            #expect(followers.filter { $0.isWhole == false }.count == 1)
        }
    }

    @Test("A client that waits for a second validation gets the response that the first validation confirms")
    func lateConfirmation() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { return connection.waitForHangUp() }
            try connection.respond(fields: [.cacheControl: "no-cache", .eTag: "\"v1\""], body: "complete")
        }
        defer { origin.stop() }
        try await TestGateway.with(patience: .seconds(3600)) { (gateway) async throws in
            let url = try ExactURL(origin.url("/a"))
            try await Asker(gateway, url).didEnd.wait()
            try await poll("the response to be stored") { gateway.fetchCount == 0 }
            let leader = Asker(gateway, url)
            try await origin.waitForRequests(2)
            let (fetch, followers) = try await lateFollowers(of: gateway, at: url)
            try await origin.waitForRequests(3)
            try fetch.originDidAnswer(
                OriginHead(
                    status: 304, fields: [.eTag: "\"v1\""], effectiveURL: "", declaredLength: nil, framing: .noBody,
                    version: "1.1"))
            fetch.originDidFinish(
                .success(OriginSummary(byteCount: 0, framing: .noBody, redirectCount: 0, retryCount: 0)))
            try await leader.didEnd.wait()
            // The client that sent the second request waits for the answer to the second request.
            try await poll("one follower to get the answer") {
                followers.filter { $0.status == 200 }.count == 1
            }
            gateway.stop()
        }
    }

    @Test("Each time the waiting clients reach the time limit, only one of them sends a further request to the origin")
    func slowOrigin() async throws {
        let answering = Gate("the answers")
        let origin = try ScriptedOrigin { _, connection in
            try answering.waitBlocking()
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "complete")
        }
        defer { origin.stop() }
        try await TestGateway.with(patience: .milliseconds(200)) { (gateway) async throws in
            let url = try ExactURL(origin.url("/a"))
            let start = ContinuousClock.now
            let clients = (0..<60).map { _ in Asker(gateway, url) }
            try await origin.waitForRequests(6)
            let fetches = gateway.fetches.map { Weak(gateway: nil, fetch: $0) }
            answering.open()
            for client in clients { try await client.didEnd.wait() }
            #expect(clients.allSatisfy { $0.text == "complete" })
            let timeLimits = Int((ContinuousClock.now - start) / .milliseconds(200))
            #expect(origin.requestCount <= timeLimits + 1)
            try await poll("the fetches to be freed") { fetches.allSatisfy { $0.fetch == nil } }
        }
    }

    @Test("A reference to the body of an answer does not keep the gateway in memory")
    func heldBody() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "complete")
        }
        defer { origin.stop() }
        let held = Locked<LiveBody?>(nil)
        try await TestGateway.with { (gateway) async throws in
            let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
            let watched = try await {
                let own = Gateway(tools: gateway.tools)
                own.fetch(request) { result in
                    guard case .success(let answer) = result, case .live(let body) = answer.body else { return }
                    held.withLock { $0 = body }
                }
                try await poll("the answer to be stored") { held.withLock { $0 != nil } && own.fetchCount == 0 }
                return Weak(gateway: own, fetch: nil)
            }()
            try await poll("the gateway to be freed") { watched.gateway == nil }
        }
        #expect(held.withLock { $0 != nil })
    }
}
