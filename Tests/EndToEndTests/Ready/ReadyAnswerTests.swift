import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Answers that are sent again as they are. Every test makes sure first that they are, by the count of such hits.
@Suite("answers at hand")
struct ReadyAnswerTests {
    private static let key = "k"
    private static let path = "/entries/k/content"

    /// Asks until the answer is at hand, and once more.
    @discardableResult
    private func warm(
        _ server: TestServer, _ path: String, fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        for _ in 0..<3 {
            _ = try await server.get(path, fields: fields)
            try await server.waitForFlights()
        }
        let before = server.space.cache.hitsAtHand
        let reply = try await server.get(path, fields: fields)
        #expect(server.space.cache.hitsAtHand == before + 1, "it is not at hand", sourceLocation: sourceLocation)
        return reply
    }

    private func expectAtHand(
        _ isExpected: Bool, _ server: TestServer, _ path: String = path, fields: HTTPFields = [:],
        method: String = "GET", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let before = server.space.cache.hitsAtHand
        let reply = try await server.client.request(method, path, fields: fields)
        #expect((server.space.cache.hitsAtHand > before) == isExpected, sourceLocation: sourceLocation)
        return reply
    }

    private func withEntry(_ body: (TestServer) async throws -> Void) async throws {
        try await TestServer.with { (server) async throws in
            try await server.put(
                Self.key, Array("one".utf8), query: "ttl=60&tags=t", fields: [.contentType: "text/plain"])
            try await warm(server, Self.path)
            try await body(server)
        }
    }

    // MARK: - The same answer

    @Test("it is the same, field by field, as the answer that was made for the first request")
    func same() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put(Self.key, Array("one".utf8), query: "ttl=60", fields: [.contentType: "text/plain"])
            let first = try await server.get(Self.path)
            let last = try await warm(server, Self.path)
            #expect(last.status == first.status)
            #expect(last.body == first.body)
            #expect(last.fields.filter { $0.name != .date } == first.fields.filter { $0.name != .date })
        }
    }

    @Test("HEAD gets its fields, and no body")
    func head() async throws {
        try await withEntry { (server) async throws in
            let get = try await expectAtHand(true, server)
            let head = try await expectAtHand(true, server, method: "HEAD")
            #expect(head.body.isEmpty)
            #expect(head[.contentLength] == "3")
            #expect(head.fields.filter { $0.name != .date } == get.fields.filter { $0.name != .date })
        }
    }

    @Test(
        "what asks for something else is looked at",
        arguments: [
            ("Range", "bytes=1-1", 206), ("If-None-Match", "*", 304), ("If-Match", "\"other\"", 412),
            ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 200), ("Cache-Control", "no-cache", 200),
            ("Origin", "null", 403), ("Sec-Fetch-Site", "cross-site", 403), ("Larder-Namespace", "other", 404),
            ("LARDER-NAMESPACE", "other", 404),
            ("Connection", "accept", 200),
        ])
    func other(name: String, value: String, status: Int) async throws {
        try await withEntry { (server) async throws in
            let name = try #require(HTTPField.Name(name))
            #expect(try await expectAtHand(false, server, fields: [name: value]).status == status)
            let other = try #require(HTTPField.Name("X-Request-ID"))
            #expect(try await expectAtHand(true, server, fields: [.userAgent: "a", other: value]).text == "one")
        }
    }

    // MARK: - The end of it

    @Test("it ends with the entry's freshness, to the millisecond")
    func expiry() async throws {
        try await withEntry { (server) async throws in
            server.clock.advance(by: .milliseconds(59_999))
            #expect(try await expectAtHand(true, server).text == "one")
            server.clock.advance(by: .milliseconds(1))
            #expect(try await expectAtHand(false, server).status == 404)
        }
    }

    @Test("another version is served at once", arguments: ["two", "one"])
    func replaced(text: String) async throws {
        try await withEntry { (server) async throws in
            try await server.put(Self.key, Array(text.utf8), query: "ttl=60", fields: [.contentType: "text/html"])
            let reply = try await server.get(Self.path)
            #expect(reply.text == text)
            #expect(reply[.contentType] == "text/html")
        }
    }

    @Test(
        "a removal, a purge or a change of the entry ends it at once",
        arguments: [
            ("DELETE", "/entries/k", ""), ("DELETE", "/entries?tag=t", ""), ("DELETE", "/entries?all=true", ""),
            ("PATCH", "/entries/k", #"{"ttl": 0}"#),
        ])
    func removed(method: String, path: String, body: String) async throws {
        try await withEntry { (server) async throws in
            let fields: HTTPFields = body.isEmpty ? [:] : [.contentType: "application/json"]
            #expect(try await server.client.request(method, path, fields: fields, text: body).status == 200)
            #expect(try await expectAtHand(false, server).status == 404)
        }
    }

    @Test("a slide to a shorter ttl ends it, and then it is at hand for the new time")
    func slide() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "body") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 600])
            let path = "/entries/\(md5(url))/content"
            try await warm(server, path)
            _ = try await server.download(["url": .string(url), "ttl": 5, "updateExpiry": true])
            _ = try await expectAtHand(false, server, path)
            _ = try await expectAtHand(true, server, path)
            server.clock.advance(by: .milliseconds(5000))
            #expect(try await expectAtHand(false, server, path).status == 404)
        }
    }

    @Test("an entry that slides all the time costs no more memory each time")
    func slides() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "body") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let path = "/entries/\(md5(url))/content"
            var bytes: [Int] = []
            for _ in 0..<20 {
                _ = try await server.download(["url": .string(url), "ttl": 600, "updateExpiry": true])
                try await warm(server, path)
                bytes.append(server.space.cache.memoryStatistics.bytes)
            }
            #expect(Set(bytes.dropFirst()).count == 1, "\(bytes)")
        }
    }

    @Test("what leaves the memory tier is not kept at hand, and comes back")
    func evicted() async throws {
        try await withEntry { (server) async throws in
            server.space.cache.trimMemory(toBytes: 0)
            #expect(try await expectAtHand(false, server).text == "one")
            #expect(try await warm(server, Self.path).text == "one")
        }
    }

    @Test("however many ways there are to ask for one entry, few answers are kept")
    func spellings() async throws {
        try await withEntry { (server) async throws in
            let paths = ["%6b", "%6B", "k"].flatMap { key in
                ["", "?stale=true", "?stale=false"].map { "/entries/\(key)/content\($0)" }
            }
            let before = server.space.cache.memoryStatistics.bytes
            for path in paths + paths + paths { _ = try await server.get(path) }
            #expect(server.space.cache.memoryStatistics.bytes < before + 4 * 4096)
        }
    }

    @Test("whoever asks in ever new ways does not keep others from having their answer at hand")
    func spellingsOfOthers() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put(Self.key, Array("one".utf8), query: "ttl=60")
            for path in ["%6b/content", "%6B/content", "k/content?stale=true", "k/content?stale=false"] {
                try await warm(server, "/entries/" + path)
            }
            try await warm(server, Self.path)
            // The last four ways, of which the oldest has to go next.
            try await warm(server, "/entries/%6b/content")
            #expect(try await expectAtHand(true, server).text == "one")
            _ = try await expectAtHand(true, server, "/entries/k/content?stale=false")
            _ = try await expectAtHand(false, server, "/entries/%6B/content")
        }
    }

    // MARK: - What is counted

    @Test("its hits are counted as all others are, in the entry, in the statistics and in the metrics")
    func counted() async throws {
        try await withEntry { (server) async throws in
            let (hits, total) = (4, server.space.cache.memoryStatistics.hits)
            for _ in 0..<10 { _ = try await expectAtHand(true, server) }
            server.clock.advance(by: .seconds(1))
            _ = try await expectAtHand(true, server)
            for _ in 0..<2 {
                let entry = try await server.get("/entries/k")
                #expect(try entry.member("hits") == .number(hits + 11))
                #expect(try entry.member("lastAccessDate") == .date(server.clock.now()))
                try await server.space.cache.flush()
            }
            #expect(server.space.cache.memoryStatistics.hits >= total + 11)
            #expect(try await server.get("/stats").member("hits") == .number(hits + 11))
            let metrics = try await server.get("/metrics").text
            #expect(metrics.contains("larder_http_requests_total{route=\"getContent\",status=\"200\"} \(hits + 11)\n"))
            #expect(metrics.contains("larder_http_request_duration_seconds_count{route=\"getContent\"} \(hits + 11)\n"))
            #expect(metrics.contains("larder_hits_total \(hits + 11)\n"))
        }
    }

    @Test("while the server drains, it closes its connection")
    func draining() async throws {
        try await withEntry { (server) async throws in
            server.api.beginDraining()
            let reply = try await expectAtHand(true, server)
            #expect(reply.text == "one")
            #expect(reply[.connection] == "close")
        }
    }
}
