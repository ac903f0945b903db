import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Places at origins")
struct GatewayPlacesTests {
    private func request(_ url: String) throws -> GatewayRequest {
        GatewayRequest(method: .get, url: try ExactURL(url), fields: [:])
    }

    /// An origin that sends a cacheable head, and only `beginning` of the body; not even a head when `beginning` is
    /// `nil`.
    private func trickling(_ over: Gate, beginning: String? = "x") throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            guard request.target.hasPrefix("/slow") else { return try connection.respond(body: "ok") }
            if let beginning {
                try connection.sendHead(fields: [.cacheControl: "max-age=60", .contentLength: "1000"])
                try connection.send(beginning)
            }
            try over.waitBlocking()
            if beginning == nil { try connection.respond(body: "late") }
        }
    }

    /// Sends two requests, and lets their clients leave.
    private func takePlaces(of gateway: Gateway, at origin: ScriptedOrigin) async throws {
        for number in 0..<2 {
            let place = gateway.fetch(try request(origin.url("/slow\(number)"))) { result in
                if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
            }
            try await origin.waitForRequests(number + 1)
            place.leave()
        }
    }

    /// Sends another request, and waits for its answer.
    private func isAnswered(by gateway: Gateway, from origin: ScriptedOrigin) async throws {
        let answered = Counter("answers")
        gateway.fetch(try request(origin.url("/ok"))) { result in
            if case .success(let answer) = result, answer.status == 200 { answered.add() }
        }
        try await answered.wait(for: 1)
    }

    @Test(
        "An abandoned fetch gives way when places are short", arguments: [nil, "x"] as [String?], [2, 10])
    func giveWay(beginning: String?, perHost: Int) async throws {
        let over = Gate("the end")
        let origin = try trickling(over, beginning: beginning)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (2, perHost) }) {
            (gateway) async throws in
            try await takePlaces(of: gateway, at: origin)
            try await isAnswered(by: gateway, from: origin)
            over.open()
        }
    }

    @Test("An abandoned fetch gives way to a request in another namespace, which shares the origin client")
    func giveWayToAnother() async throws {
        let over = Gate("the end")
        let origin = try trickling(over)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (2, 2) }) {
            (gateway) async throws in
            try await takePlaces(of: gateway, at: origin)
            try await isAnswered(by: Gateway(tools: gateway.tools, group: gateway.group), from: origin)
            over.open()
        }
    }

    @Test("A request that has not departed when its client leaves never departs")
    func neverDeparts() async throws {
        let over = Gate("the end")
        let origin = try trickling(over, beginning: nil)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (1, 1) }) {
            (gateway) async throws in
            gateway.fetch(try request(origin.url("/slow"))) { _ in }
            try await origin.waitForRequests(1)
            gateway.fetch(try request(origin.url("/ok"))) { _ in }.leave()
            try await poll("the second to end") { gateway.fetchCount == 1 }
            over.open()
            try await poll("the first to end") { gateway.fetchCount == 0 }
            #expect(origin.requests.map(\.target).allSatisfy { $0 == "/slow" })
        }
    }

    @Test("When its client left before it could wait, a request is freed at its end with all that it held")
    func leftBefore() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "ok") }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            weak var held: GatewayCall?
            do {
                let call = GatewayCall(try request(origin.url("/")), interim: { _, _ in }, completion: { _ in })
                held = call
                call.leave()
                gateway.dispatch(call)
            }
            try await poll("the request to be over and forgotten") { gateway.fetchCount == 0 && held == nil }
        }
    }

    @Test("A request without a turn gets the stale response that it may have, else a time-out")
    func turn() async throws {
        let over = Gate("the end")
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/slow" { try over.waitBlocking() }
            let isStale = request.target == "/stale"
            try connection.respond(
                fields: [.cacheControl: isStale ? "max-age=0, stale-if-error=600" : "no-store"], body: "ok")
        }
        defer { origin.stop() }
        try await TestGateway.with(configure: {
            ($0.maxTransfers, $0.maxTransfersPerHost, $0.queueTimeout) = (1, 1, .milliseconds(20))
        }) { (gateway) async throws in
            gateway.fetch(try request(origin.url("/stale"))) { result in
                if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
            }
            try await poll("it to be stored") { gateway.fetchCount == 0 && gateway.tools.cache.totals.entries == 1 }
            gateway.fetch(try request(origin.url("/slow"))) { _ in }
            try await origin.waitForRequests(2)
            let stale = Counter("stale answers")
            gateway.fetch(try request(origin.url("/stale"))) { result in
                if case .success(let answer) = result, answer.status == 200, case .pieces = answer.body { stale.add() }
            }
            try await stale.wait(for: 1)
            let refused = Counter("refusals")
            gateway.fetch(try request(origin.url("/ok"))) { result in
                if case .failure(let error) = result, case .origin(.timedOut) = error.cause { refused.add() }
            }
            try await refused.wait(for: 1)
            #expect(origin.requestCount == 2)
            over.open()
        }
    }
}
