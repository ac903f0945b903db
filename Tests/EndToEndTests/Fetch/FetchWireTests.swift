import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("/fetch: what goes over the wire, and what is stored under which name")
struct FetchWireTests {
    private func fetch(
        _ server: TestServer, _ target: String, _ fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request("GET", target, fields: fields)
        try await poll("the flight to land", every: .milliseconds(1)) {
            server.service.gateway.flightCount == 0
        }
        try await server.service.cache.flush()
        return reply
    }

    @Test("a request to the origin is over once a stale answer stood in for its error (RFC 5861 §4)")
    func staleAnswerEndsTheFlight() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=60, stale-if-error=60"]
            try connection.respond(request.index == 0 ? 200 : 503, fields: fields, body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            _ = try await fetch(server, target)
            server.clock.advance(by: .seconds(61))
            #expect(try await fetch(server, target).text == "0")
            #expect(server.service.gateway.flightCount == 0)
        }
    }

    @Test("/entries/<key>/content of a stored gzip body says that it is gzip (RFC 9110 §8.4)")
    func contentEncoding() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], body: "coded")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await fetch(server, "/fetch/" + origin.url("/a"))
            let entry = try #require(
                try await server.get("/entries").member("entries")?.arrayValue?.first)
            let key = try #require(entry["key"]?.stringValue)
            let content = try await server.get("/entries/\(key.percentEncoded)/content")
            #expect(content.text == "coded")
            #expect(content["Content-Encoding"] == "gzip")
        }
    }
}
