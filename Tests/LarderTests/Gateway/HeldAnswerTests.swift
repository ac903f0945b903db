import DiskCache
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Origin

/// The tests call the methods of ``GatewayFetch`` that receive an origin's answer, in an order that once failed.
@Suite("A short answer that is held back until its body has arrived")
struct HeldAnswerTests {
    private let head = OriginHead(
        status: 200, fields: [.contentLength: "8", .cacheControl: "max-age=60"], effectiveURL: "", declaredLength: 8,
        framing: .length, version: "1.1")

    /// Runs `body` with the fetch of the first request. The origin does not answer this request, but it answers all
    /// later requests.
    private func withFetch(
        _ fields: HTTPFields = [:], _ body: (Gateway, GatewayFetch, Asker, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { return connection.waitForHangUp() }
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "complete")
        }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            let leader = Asker(gateway, try ExactURL(origin.url("/a")), fields)
            try await origin.waitForRequests(1)
            try await body(gateway, #require(gateway.fetches.first), leader, origin)
        }
    }

    private func send(_ text: String, to fetch: GatewayFetch) throws {
        try Array(text.utf8).withUnsafeBytes { try fetch.originDidSend($0) }
    }

    @Test("A short answer that arrives without a pause is delivered only once the whole body has arrived")
    func whole() async throws {
        try await withFetch { gateway, fetch, leader, _ in
            let mark = gateway.tools.cache.mark(ofResponsesTo: fetch.policy.leader.url)
            try fetch.originDidAnswer(head)
            try send("half", to: fetch)
            #expect(leader.status == nil)
            // Older responses stay current until other requests can find the new answer.
            #expect(mark.isCurrent)
            try send("half", to: fetch)
            #expect(leader.isWhole == true)
            #expect(leader.text == "halfhalf")
            #expect(!mark.isCurrent)
            fetch.cancel()
        }
    }

    @Test("When the origin pauses in a short answer, Larder delivers the beginning, and then the rest as it arrives")
    func pause() async throws {
        try await withFetch { _, fetch, leader, _ in
            try fetch.originDidAnswer(head)
            try send("half", to: fetch)
            fetch.originDidPause()
            #expect(leader.status == 200)
            #expect(leader.text == "half")
            try send("half", to: fetch)
            #expect(leader.text == "halfhalf")
            fetch.cancel()
        }
    }

    @Test("A short answer that breaks off goes only to the client that asked first; a waiter asks the origin again")
    func breaksOff() async throws {
        try await withFetch { gateway, fetch, leader, origin in
            let second = Asker(gateway, try ExactURL(origin.url("/a")))
            #expect(gateway.tools.metrics.joins.value == 1)
            try fetch.originDidAnswer(head)
            try send("half", to: fetch)
            fetch.originDidFinish(.failure(OriginError(.transfer)))
            #expect(leader.isWhole == false)
            #expect(leader.text == "half")
            try await second.didEnd.wait()
            #expect(second.isWhole == true)
            #expect(second.text == "complete")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A short answer of a fetch that was given up is not delivered to a later request")
    func givenUp() async throws {
        try await withFetch { gateway, fetch, leader, origin in
            leader.leave()
            try fetch.originDidAnswer(head)
            try send("half", to: fetch)
            // Takes the transfer out of the fetch, to simulate that the transfer has not noticed the cancellation yet.
            let transfer = fetch.state.withLock { $0.transfer.take() }
            #expect(fetch.giveUp())
            fetch.originDidPause()
            let second = Asker(gateway, try ExactURL(origin.url("/a")))
            try await second.didEnd.wait()
            #expect(second.isWhole == true)
            #expect(second.text == "complete")
            transfer?.cancel()
        }
    }

    @Test(
        "Even while a whole answer is being stored, it replaces a stale response, and only-if-cached finds it",
        arguments: [
            ("max-age=0, stale-while-revalidate=60", [:]), ("no-store", [.cacheControl: "only-if-cached"]),
        ] as [(String, HTTPFields)])
    func storing(control: String, fields: HTTPFields) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { return connection.waitForHangUp() }
            try connection.respond(fields: [.cacheControl: control], body: "old")
        }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            let url = try ExactURL(origin.url("/a"))
            let first = Asker(gateway, url)
            try await first.didEnd.wait()
            try await poll("the old answer to end") { gateway.fetchCount == 0 }
            let second = Asker(gateway, url, [.cacheControl: "no-cache"])
            try await origin.waitForRequests(2)
            let fetch = try #require(gateway.fetches.first)
            try fetch.originDidAnswer(head)
            try send("complete", to: fetch)
            #expect(second.text == "complete")
            let third = Asker(gateway, url, fields, tags: ["late"])
            try await third.didEnd.wait()
            #expect(third.text == "complete")
            fetch.originDidFinish(
                .success(OriginSummary(byteCount: 8, framing: .length, redirectCount: 0, retryCount: 0)))
            try await poll("the answer to be stored with the tag") {
                try gateway.tools.cache.list().entries.first?.tags == ["late"]
            }
        }
    }

    @Test("A request between the last byte of a body and the end of its transfer is a hit")
    func lastByte() async throws {
        try await withFetch { gateway, fetch, leader, origin in
            try fetch.originDidAnswer(head)
            try send("comp", to: fetch)
            fetch.originDidPause()
            let early = Asker(gateway, try ExactURL(origin.url("/a")))
            try send("lete", to: fetch)
            let late = Asker(gateway, try ExactURL(origin.url("/a")))
            try await late.didEnd.wait()
            #expect(late.text == "complete")
            #expect(leader.cacheStatus?.hasPrefix("larder; fwd=uri-miss; stored") == true)
            #expect(early.cacheStatus?.hasPrefix("larder; fwd=uri-miss; collapsed") == true)
            #expect(late.cacheStatus?.hasPrefix("larder; hit; ttl=") == true)
            #expect(origin.requestCount == 1)
            fetch.cancel()
        }
    }

    @Test("A request with only-if-cached waits for a 206 part that has arrived, until the part is stored")
    func storingPart() async throws {
        try await withFetch([.range: "bytes=10-17"]) { gateway, fetch, _, origin in
            var part = head
            part.status = 206
            part.fields[.contentRange] = "bytes 10-17/100"
            part.fields[.eTag] = "\"v1\""
            try fetch.originDidAnswer(part)
            try send("complete", to: fetch)
            let fields: HTTPFields = [.range: "bytes=12-13", .cacheControl: "only-if-cached"]
            let second = Asker(gateway, try ExactURL(origin.url("/a")), fields)
            #expect(second.isWhole == nil)
            let summary = OriginSummary(byteCount: 8, framing: .length, redirectCount: 0, retryCount: 0)
            fetch.originDidFinish(.success(summary))
            try await second.didEnd.wait()
            #expect(second.status == 206)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A fetch is not given up after a client has joined, even before the client first reads the body")
    func newcomer() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
            func take(_ use: @escaping @Sendable (LiveBody) -> Void) {
                gateway.fetch(request) { result in
                    if case .success(let answer) = result, case .live(let body) = answer.body { use(body) }
                }
            }
            take { $0.dismiss() }
            try await origin.waitForRequests(1)
            let fetch = try #require(gateway.fetches.first)
            try fetch.originDidAnswer(head)
            try send("half", to: fetch)
            fetch.originDidPause()
            let held = Locked<LiveBody?>(nil)
            take { body in held.withLock { $0 = body } }
            #expect(held.withLock { $0 != nil })
            #expect(!fetch.giveUp())
            held.withLock { $0 = nil }
            #expect(fetch.giveUp())
        }
    }
}
