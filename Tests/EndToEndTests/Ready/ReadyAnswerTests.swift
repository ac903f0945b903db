import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Ready answers, which are sent again unchanged. Every test first proves by the count of ready hits that its answer
/// is ready.
@Suite("Ready answers")
struct ReadyAnswerTests {
    private static let key = "k"
    private static let path = "/entries/k/content"

    /// Requests a path until its answer is ready, and then once more.
    @discardableResult
    private func warm(
        _ server: TestServer, _ path: String, fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        for _ in 0..<3 {
            _ = try await server.get(path, fields: fields)
            try await server.waitForFetches()
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

    @Test("A ready answer equals the first answer in every field")
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

    @Test("HEAD gets the fields of the ready answer, and no body")
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
        "A request with a field that could change the answer does not get the ready answer",
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

    // MARK: - The end of a ready answer

    @Test("Larder sends a ready answer until the exact millisecond of the entry's expiry date, and not after it")
    func expiry() async throws {
        try await withEntry { (server) async throws in
            server.clock.advance(by: .milliseconds(59_999))
            #expect(try await expectAtHand(true, server).text == "one")
            server.clock.advance(by: .milliseconds(1))
            #expect(try await expectAtHand(false, server).status == 404)
        }
    }

    @Test(
        "When a new version of an entry is stored, Larder immediately serves it in place of the ready answer",
        arguments: ["two", "one"])
    func replaced(text: String) async throws {
        try await withEntry { (server) async throws in
            try await server.put(Self.key, Array(text.utf8), query: "ttl=60", fields: [.contentType: "text/html"])
            let reply = try await server.get(Self.path)
            #expect(reply.text == text)
            #expect(reply[.contentType] == "text/html")
        }
    }

    @Test(
        "A removal, a purge or a change of the entry immediately ends its ready answer",
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

    @Test("A hit that sets an earlier expiry date ends the ready answer, and the next ready answer has this date")
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

    @Test("Hits that renew an entry's expiry date again and again do not increase the memory that the entry takes")
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

    @Test("An entry that leaves the memory tier loses its ready answer, and can get a ready answer again")
    func evicted() async throws {
        try await withEntry { (server) async throws in
            server.space.cache.trimMemory(toBytes: 0)
            #expect(try await expectAtHand(false, server).text == "one")
            #expect(try await warm(server, Self.path).text == "one")
        }
    }

    @Test("An entry that callers request by many spellings of its URL keeps only a few ready answers")
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

    @Test("Of five spellings of a URL, the last four have ready answers")
    func spellingsOfOthers() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put(Self.key, Array("one".utf8), query: "ttl=60")
            for path in ["%6b/content", "%6B/content", "k/content?stale=true", "k/content?stale=false"] {
                try await warm(server, "/entries/" + path)
            }
            try await warm(server, Self.path)
            // A new spelling displaces the oldest of the last four spellings.
            try await warm(server, "/entries/%6b/content")
            #expect(try await expectAtHand(true, server).text == "one")
            _ = try await expectAtHand(true, server, "/entries/k/content?stale=false")
            _ = try await expectAtHand(false, server, "/entries/%6B/content")
        }
    }

    // MARK: - Counting

    @Test("Hits that ready answers serve count in the entry, in the statistics and in the metrics")
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

    @Test("A ready answer of a draining server closes its connection")
    func draining() async throws {
        try await withEntry { (server) async throws in
            server.api.beginDraining()
            let reply = try await expectAtHand(true, server)
            #expect(reply.text == "one")
            #expect(reply[.connection] == "close")
        }
    }
}
