import HTTPTypes
import TestSupport
import Testing

@Suite("Preconditions of requests through /fetch")
struct FetchPreconditionTests {
    /// Starts an origin with ten digits as version `"v1"`. The origin evaluates If-Match, If-None-Match and the range
    /// `bytes=2-4`, and sends the whole body in chunks.
    private func origin(cacheControl: String) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: cacheControl, .eTag: "\"v1\""]
            if let condition = request["If-Match"], condition != "\"v1\"" { return try connection.respond(412) }
            if request["If-None-Match"] == "\"v1\"" { return try connection.respond(304, fields: fields) }
            if request["Range"] == "bytes=2-4" {
                var fields = fields
                fields[.contentRange] = "bytes 2-4/10"
                return try connection.respond(206, fields: fields, body: "234")
            }
            try connection.startChunks(fields: fields)
            try connection.sendChunk("0123456789")
            try connection.endChunks()
        }
    }

    private func get(_ server: TestServer, _ origin: ScriptedOrigin, _ fields: HTTPFields) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + origin.url("/a"), fields: fields)
    }

    @Test(
        "A GET gets 412 if If-Match does not list the origin's ETag, with or without a Range (RFC 9110 §13.1.1)",
        arguments: ["max-age=60", "no-store"], [nil, "bytes=2-4"])
    func otherVersion(cacheControl: String, range: String?) async throws {
        let origin = try origin(cacheControl: cacheControl)
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            var fields: HTTPFields = [.ifMatch: "\"v0\""]
            fields[.range] = range
            #expect(try await get(server, origin, fields).status == 412)
            fields[.ifMatch] = "\"v1\""
            let right = try await get(server, origin, fields)
            #expect(right.text == (range == nil ? "0123456789" : "234"))
            #expect(right.status == (range == nil ? 200 : 206))
        }
    }

    @Test("The answer to a request with If-Match is stored, and the cache answers later requests with If-Match")
    func kept() async throws {
        let origin = try origin(cacheControl: "max-age=60")
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin, [.ifMatch: "\"v1\""]).status == 200)
            try await server.waitForFetches()
            #expect(try await get(server, origin, [:]).text == "0123456789")
            #expect(try await get(server, origin, [.ifMatch: "\"v0\""]).status == 412)
            #expect(origin.requestCount == 1)
        }
    }

    @Test(
        "When the stored answer is stale, the origin evaluates the client's If-Match", arguments: ["\"v1\"", "\"v0\""])
    func stale(condition: String) async throws {
        let origin = try origin(cacheControl: "max-age=60")
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await get(server, origin, [:])
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(61))
            let reply = try await get(server, origin, [.ifMatch: condition])
            #expect(reply.status == (condition == "\"v1\"" ? 200 : 412))
            #expect(origin.requests.last?["If-None-Match"] == "\"v1\"")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A POST with If-Match gets the origin's answer, even if the answer has a new ETag (RFC 9110 §13.1.1)")
    func changeWithCondition() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .eTag: "\"v2\"", .contentLocation: request.target], body: "made")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port)
                .request("POST", "/fetch/" + origin.url("/a"), fields: [.ifMatch: "\"v1\""], text: "x")
            #expect(reply.status == 200)
            #expect(reply.text == "made")
            try await server.waitForFetches()
            #expect(
                try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + origin.url("/a")).text == "made")
            #expect(origin.requestCount == 1)
        }
    }
}
