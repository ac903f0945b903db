import HTTPTypes
import TestSupport
import Testing

@testable import Larder

@Suite("A crowd in front of an origin through /fetch")
struct FetchCrowdTests {
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    /// Sends simultaneous requests for `/a`, and returns the texts of the answers. Opens the gate when the request of
    /// one client has reached the origin, and all other clients wait for its answer.
    ///
    /// Larder notes the time of a request to the origin when it sends the request, which can be after the other clients
    /// began to wait. `whenAllWait` may turn the clock, so it is called after the request has arrived.
    private func crowd(
        _ server: TestServer, of size: Int, at origin: ScriptedOrigin, opening gate: Gate,
        _ whenAllWait: () -> Void = {}
    ) async throws -> [String] {
        let (joins, requests) = (server.service.metrics.joins.value, origin.requestCount)
        return try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<size { group.addTask { try await get(server, origin.url("/a")).text } }
            try await poll("all clients but one to wait") { server.service.metrics.joins.value == joins + size - 1 }
            try await origin.waitForRequests(requests + 1)
            whenAllWait()
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(
        "Simultaneous clients of an answer that must be validated share one validation, at any age of the answer",
        arguments: ["no-cache", "max-age=0", "max-age=0, must-revalidate", "no-cache, max-age=60"], [0, 11])
    func validation(control: String, pause: Int) async throws {
        let gate = Gate("all clients to wait")
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: control, .eTag: "\"v1\""]
            guard request["If-None-Match"] == "\"v1\"" else {
                return try connection.respond(fields: fields, body: "hello")
            }
            try gate.waitBlocking()
            try connection.respond(304, fields: fields)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a")).text == "hello")
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(pause))
            let texts = try await crowd(server, of: 12, at: origin, opening: gate)
            #expect(texts == Array(repeating: "hello", count: 12))
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Simultaneous clients do not wait for each other if each validation brings a new no-cache answer")
    func changing() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "no-cache", .eTag: "\"\(request.index)\""], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<2 {
                #expect(try await get(server, origin.url("/a")).text == "x")
                try await server.waitForFetches()
            }
            // The last validation brought a new answer. From this, Larder knows that clients of this URL cannot share
            // an answer, so no client waits.
            let joins = server.service.metrics.joins.value
            let texts = try await concurrently(8) { _ in try await get(server, origin.url("/a")).text }
            #expect(texts == Array(repeating: "x", count: 8))
            #expect(server.service.metrics.joins.value == joins)
        }
    }

    @Test(
        "Waiting clients share an answer even if its transfer takes longer than its freshness lifetime",
        arguments: [1, 3])
    func slow(rounds: Int) async throws {
        let gates = (0..<rounds).map { Gate("the crowd of round \($0)") }
        let origin = try ScriptedOrigin { request, connection in
            try gates[request.index].waitBlocking()
            try connection.respond(fields: [.cacheControl: "max-age=1"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for round in 0..<rounds {
                let texts = try await crowd(server, of: 10, at: origin, opening: gates[round]) {
                    server.clock.advance(by: .seconds(3))
                }
                #expect(texts == Array(repeating: "\(round)", count: 10))
                try await server.waitForFetches()
            }
            #expect(origin.requestCount == rounds)
        }
    }

    @Test("Waiting clients do not share an answer with must-revalidate that is already stale when it arrives")
    func slowAndStrict() async throws {
        let gate = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            try connection.respond(
                fields: [.cacheControl: "max-age=1, must-revalidate"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let texts = try await crowd(server, of: 3, at: origin, opening: gate) {
                server.clock.advance(by: .seconds(3))
            }
            #expect(texts.filter { $0 == "0" }.count == 1)
        }
    }

    @Test("Waiting clients do not share an answer with an Age beyond its max-age, however quick the origin is")
    func oldAnswer() async throws {
        let gate = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            try connection.respond(fields: [.cacheControl: "max-age=5", .age: "9"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let texts = try await crowd(server, of: 3, at: origin, opening: gate)
            #expect(texts.filter { $0 == "0" }.count == 1)
        }
    }
}
