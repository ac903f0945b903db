import HTTPTypes
import TestSupport
import Testing

@Suite("/fetch: what is brought up to date")
struct FetchRefreshTests {
    private func ask(_ server: TestServer, _ method: String, _ url: String) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request(method, "/fetch/" + url)
        try await server.waitForFlights()
        return reply
    }

    @Test("a HEAD that gets something stale has it fetched anew behind its back (RFC 5861 §3)")
    func head() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60, stale-while-revalidate=60"], body: "version \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await ask(server, "GET", url)
            server.clock.advance(by: .seconds(61))
            #expect(try await ask(server, "HEAD", url)["Cache-Status"]?.hasPrefix("larder; hit; ttl=-") == true)
            #expect(try await ask(server, "GET", url).text == "version 1")
            #expect(origin.requests.map(\.method) == ["GET", "GET"])
        }
    }
}
