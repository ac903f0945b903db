import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Jumps of the clock")
struct ClockJumpTests {
    private static let year: Duration = .seconds(365 * 86_400)

    @Test(
        "After any jump of the clock, no entry is fresh for longer than its ttl, and downloads and fetches succeed",
        arguments: [[1, -2], [-1, 2], [-1, -1], [1, 1]])
    func jumps(years: [Int]) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isSame = request["If-None-Match"] == "\"1\""
            try connection.respond(
                isSame ? 304 : 200, fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"],
                body: isSame ? "" : request.target)
        }
        defer { origin.stop() }
        let (clock, directory) = (ManualClock(), try TemporaryDirectory())
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await Self.storeAll(server, origin)
            for number in years {
                clock.advance(by: Self.year * number)
                try await Self.expectSound(server, origin)
                try await Self.storeAll(server, origin)
                try await Self.expectSound(server, origin)
            }
        }
        // This server starts after the jumps, with entries from before the jumps.
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await Self.expectSound(server, origin)
            #expect(try await server.client.request("DELETE", "/entries?all=true").status == 200)
            try await Self.storeAll(server, origin)
            clock.advance(by: .seconds(61))
            #expect(try await server.get("/entries?state=fresh").member("entries") == [])
        }
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }

    private static func storeAll(_ server: TestServer, _ origin: ScriptedOrigin) async throws {
        #expect(try await server.put("data", Array("data".utf8), query: "ttl=60").status == 200)
        let call: JSON = ["url": .string(origin.url("/d")), "ttl": 60, "refresh": true]
        #expect(try await server.download(call).status == 200)
        #expect(try await server.content(of: origin.url("/d")) == "/d")
        #expect(try await fetch(server, origin).status == 200)
    }

    /// Expects that no entry stays fresh for more than a minute, that the content of `data` is whole or not served, and
    /// that a download and a fetch return the right bodies.
    private static func expectSound(_ server: TestServer, _ origin: ScriptedOrigin) async throws {
        let latest = server.clock.now() + .seconds(60)
        for entry in try await server.get("/entries").member("entries")?.arrayValue ?? [] {
            let expiry = try #require(entry["expiryDate"]?.date)
            #expect(expiry <= latest, "\(entry.text)")
        }
        let content = try await server.get("/entries/data/content")
        #expect(content.status == 404 || content.text == "data", "\(content.head)")
        let call: JSON = ["url": .string(origin.url("/d")), "ttl": 60]
        #expect(try await server.download(call).status == 200)
        #expect(try await server.content(of: origin.url("/d")) == "/d")
        let fetched = try await fetch(server, origin)
        #expect(fetched.text == "/f")
        let age = fetched["Age"].flatMap { Int($0) } ?? 0
        #expect((0...60).contains(age), "\(fetched.head)")
        #expect(try await server.get("/readyz").status == 200)
        #expect(try await server.get("/stats").status == 200)
    }

    private static func fetch(_ server: TestServer, _ origin: ScriptedOrigin) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + origin.url("/f"))
    }
}
