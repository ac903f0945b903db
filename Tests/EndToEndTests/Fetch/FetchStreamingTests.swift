import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The streaming of answers through /fetch")
struct FetchStreamingTests {
    private let half = pattern(100_000, seed: 1)

    /// Starts an origin that sends the second half of each body when the gate opens.
    private func halfway(_ gate: Gate, fields: HTTPFields = [.cacheControl: "max-age=60"]) throws -> ScriptedOrigin {
        try ScriptedOrigin { [half] _, connection in
            var fields = fields
            fields[.contentLength] = String(half.count * 2)
            try connection.sendHead(fields: fields)
            try connection.send(half)
            try gate.waitBlocking()
            try connection.send(half)
        }
    }

    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    @Test("An answer is stored although its first client leaves during the transfer")
    func leaderLeaves() async throws {
        let gate = Gate("second half")
        let origin = try halfway(gate)
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                _ = try connection.readHead()
                _ = try connection.read(1_000)
            }
            gate.open()
            let reply = try await get(server, origin.url("/a"))
            #expect(reply.body == half + half)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A client gets the head of a short answer before its body arrives", arguments: ["max-age=60", "no-store"])
    func lateBody(control: String) async throws {
        let gate = Gate("body")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "4", .cacheControl: control])
            try gate.waitBlocking()
            try connection.send("body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let body = try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                #expect(try connection.readHead()[.contentLength] == "4")
                gate.open()
                return try connection.read(4)
            }
            #expect(body == Array("body".utf8))
        }
    }

    @Test(
        "Clients get the whole of a body that arrives with its head; a Range gets a part only if the body is stored",
        arguments: [1, 1_000, 16 << 10, 64 << 10, (64 << 10) + 1], ["max-age=60", "no-store"])
    func bodyWithHead(length: Int, control: String) async throws {
        let body = pattern(length, seed: 3)
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: control], body: body)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let replies = try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { try await get(server, origin.url("/a")) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for reply in replies {
                #expect(reply.status == 200)
                #expect(reply[.contentLength] == String(length))
                #expect(reply.body == body)
            }
            let part = try await get(server, origin.url("/b"), [.range: "bytes=0-0"])
            #expect(part.body == (control == "no-store" ? body : [body[0]]))
        }
    }

    @Test("A late client gets the received bytes, or a range of them, from the cache, and later bytes as they arrive")
    func joins() async throws {
        let gate = Gate("second half")
        let origin = try halfway(gate)
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let hasHead = Gate("the head of the answer")
            async let first = HTTPClient(port: server.api.port).withConnection { [half] connection in
                try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                _ = try connection.readHead()
                hasHead.open()
                return try connection.read(half.count * 2)
            }
            // Before the first answer's head arrives, Larder sends range requests to the origin. So the test waits.
            try await hasHead.wait()
            let hasJoined = Gate("the head of the second answer")
            async let second = HTTPClient(port: server.api.port).withConnection { [half] connection in
                try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                let head = try connection.readHead()
                hasJoined.open()
                return (head: head, body: try connection.read(half.count * 2))
            }
            async let part = get(server, origin.url("/a"), [.range: "bytes=10-19"])
            #expect(try await part.status == 206)
            #expect(try await part.body == Array(half[10..<20]))
            #expect(!gate.isOpen)
            // The second client joins before the gate opens, because a client after the last byte gets a hit.
            try await hasJoined.wait()
            gate.open()
            #expect(try await first == half + half)
            let joined = try await second
            #expect(joined.body == half + half)
            #expect(joined.head["Cache-Status"]?.contains("collapsed") == true)
            #expect(joined.head["Age"] != nil)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("If the origin breaks off a body, the client gets the received bytes, and no entry is stored")
    func breaksOff() async throws {
        let origin = try ScriptedOrigin { [half] _, connection in
            try connection.sendHead(fields: [.contentLength: String(half.count * 2), .cacheControl: "max-age=60"])
            try connection.send(half)
            connection.close()
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for count in 1...2 {
                let received = try await HTTPClient(port: server.api.port).withConnection { connection in
                    try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                    #expect(try connection.readHead()[.contentLength] == "200000")
                    return try connection.readToEnd()
                }
                #expect(received == half)
                #expect(origin.requestCount == count)
            }
            #expect(server.space.cache.totals.entries == 0)
        }
    }

    @Test("A purge during a transfer keeps the answer out of the cache, and the client gets the whole answer")
    func purged() async throws {
        let gate = Gate("second half")
        let origin = try halfway(gate)
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let reply = get(server, origin.url("/a"), [HTTPField.Name("Larder-Tags")!: "news"])
            try await origin.waitForRequests(1)
            #expect(try await server.client.request("DELETE", "/entries?tag=news").status == 200)
            gate.open()
            #expect(try await reply.body == half + half)
            try await server.waitForFetches()
            #expect(server.space.cache.totals.entries == 0)
            _ = try await get(server, origin.url("/a"))
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A request for another variant does not wait for the variant that is being fetched")
    func otherVariant() async throws {
        let gate = Gate("the answer in English")
        let origin = try ScriptedOrigin { request, connection in
            let language = request["Accept-Language"] ?? ""
            let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language", .contentLength: "2"]
            try connection.sendHead(fields: fields)
            if language == "en" { try gate.waitBlocking() }
            try connection.send(language)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let english = get(server, origin.url("/a"), [.acceptLanguage: "en"])
            try await origin.waitForRequests(1)
            #expect(try await get(server, origin.url("/a"), [.acceptLanguage: "de"]).text == "de")
            gate.open()
            #expect(try await english.text == "en")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A 103 reaches an HTTP/1.1 client before the answer (RFC 8297)")
    func earlyHints() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "page")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let first = try await get(server, origin.url("/a"))
            #expect(first.text == "page" && first.interim.map(\.status) == [103])
            #expect(first.interim.first?["Link"] == "</style.css>; rel=preload")
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).interim.isEmpty)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A stale answer is served immediately, and refreshed in the background (RFC 5861 §3)")
    func staleWhileRevalidate() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=10, stale-while-revalidate=60"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a")).text == "0")
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            #expect(try await get(server, origin.url("/a")).text == "0")
            try await origin.waitForRequests(2)
            // Until the new answer is stored, clients get the stale answer or join the fetch. No client causes
            // another origin request.
            var texts: [String] = []
            while texts.last != "1", texts.count < 10_000 { texts.append(try await get(server, origin.url("/a")).text) }
            #expect(texts.last == "1")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Hits on a large body leave no descriptor open")
    func descriptors() async throws {
        let body = pattern(4 << 20, seed: 5)
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: body)
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let target = "/fetch/" + origin.url("/large")
        func descriptors() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(larder.process.pid)/fd").count
        }
        for _ in 0..<3 { #expect(try await larder.client.request("GET", target).body == body) }
        let before = try descriptors()
        for _ in 0..<20 { #expect(try await larder.client.request("GET", target).body == body) }
        try await poll("the descriptors to be closed") { try descriptors() <= before + 2 }
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A background refresh that gets an unstorable answer ends, and the next refresh can begin")
    func refreshNotKept() async throws {
        let large = pattern(1 << 20, seed: 6)
        let origin = try ScriptedOrigin { request, connection in
            let control = request.index == 0 ? "max-age=1, stale-while-revalidate=600" : "no-store"
            try connection.respond(fields: [.cacheControl: control], body: large)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await get(server, origin.url("/a"))
            try await server.waitForFetches()
            for count in 2...3 {
                server.clock.advance(by: .seconds(10))
                #expect(try await get(server, origin.url("/a")).body == large)
                try await origin.waitForRequests(count)
                try await poll("the refresh to end") { server.space.gateway.fetchCount == 0 }
            }
        }
    }

    @Test("A head of 28,000 bytes reaches its client, a head of 60,000 bytes gets 502", arguments: [28_000, 60_000])
    func largeHead(count: Int) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [HTTPField.Name("X-Large")!: String(repeating: "x", count: count)], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await get(server, origin.url("/a"))
            #expect(reply.status == (count < 30_000 ? 200 : 502))
        }
    }

    @Test("Larder answers 502 if head and request fields together are too large to store", arguments: [60, 100])
    func largeHeadForMany(fieldCount: Int) async throws {
        let count = Locked(0)
        let origin = try ScriptedOrigin { _, connection in
            let value = String(repeating: "x", count: count.withLock { $0 })
            try connection.respond(fields: [HTTPField.Name("X-Large")!: value], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let fields = HTTPFields((0..<fieldCount).map { HTTPField(name: .init("X-\($0)")!, value: "1") })
            var seen: Set<Int> = []
            for length in stride(from: 22_000, through: 30_000, by: 200) {
                count.withLock { $0 = length }
                let target = "/fetch/" + origin.url("/\(length)")
                seen.insert(try await HTTPClient(port: server.api.port).request("GET", target, fields: fields).status)
            }
            #expect(seen == [200, 502])
        }
    }

    @Test("Targets that differ in non-UTF-8 bytes are different URLs")
    func bytes() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: request.target)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for byte in [UInt8(0xFE), 0xFF] {
                let reply = try await HTTPClient(port: server.api.port).withConnection { connection in
                    try connection.send(
                        Array("GET /fetch/\(origin.url("/"))".utf8) + [byte]
                            + Array(" HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
                    return try connection.readReply()
                }
                #expect(reply.text == "/%" + [byte].hex.uppercased())
            }
        }
    }

    @Test("An upload streams to the origin, and an answer may arrive before the upload ends", arguments: [true, false])
    func upload(isEarly: Bool) async throws {
        let begun = Gate("the first bytes are at the origin")
        let listener = try Listener { stream, _ in
            while let line = try? stream.readLine(), !line.isEmpty {}
            guard (try? stream.read(1)) != nil else { return }
            begun.open()
            if isEarly {
                try? stream.send("HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nlarge")
                // A close with unread bytes would reset the connection, and the client could lose the answer.
                while let some = try? stream.readSome(), !some.isEmpty {}
                return
            }
            var count = 1
            while count < 300_000, let some = try? stream.readSome(), !some.isEmpty { count += some.count }
            try? stream.send("HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\n\(count)")
        }
        defer { listener.stop() }
        let body = pattern(300_000, seed: 3)
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.send(
                    "PUT /fetch/http://127.0.0.1:\(listener.port)/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n\r\n"
                )
                try connection.send(body[..<1_000])
                // The client sends the rest only after the origin has received the beginning.
                try begun.waitBlocking()
                try connection.send(body[1_000...])
                return try connection.readReply()
            }
            #expect(reply.status == (isEarly ? 413 : 201))
            #expect(reply.text == (isEarly ? "large" : "300000"))
        }
    }

    @Test("A client that uploads after the gateway of /fetch has stopped gets 503, and Larder drops the upload")
    func refusedUpload() async throws {
        try await TestServer.with { (server) async throws in
            server.space.gateway.stop()
            let reply = try await HTTPClient(port: server.api.port)
                .request("PUT", "/fetch/http://127.0.0.1:1/a", body: pattern(1 << 20, seed: 8))
            #expect(reply.status == 503)
        }
    }

    @Test("A request with If-None-Match gets 304 for an answer of unknown length (RFC 9110 §13.1.2)")
    func conditionWithoutLength() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.startChunks(fields: [.cacheControl: "max-age=60", .eTag: "\"v1\""])
            try connection.sendChunk("body")
            try connection.endChunks()
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await get(server, origin.url("/a"), [.ifNoneMatch: "\"v1\""])
            #expect(reply.status == 304)
            // Content-Length in a 304 is the length of the whole body, which is not known yet (RFC 9110 §8.6).
            #expect(reply[.contentLength] == nil)
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).text == "body")
            #expect(origin.requestCount == 1)
        }
    }

    @Test("An empty upload reaches the origin with Content-Length: 0 (RFC 9110 §8.6)", arguments: ["POST", "PUT"])
    func emptyUpload(method: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: "\(request["Content-Length"] ?? "none") \(request["Transfer-Encoding"] ?? "")")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.send(
                    "\(method) /fetch/\(origin.url("/a")) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
                return try connection.readReply()
            }
            #expect(reply.text == "0 ")
        }
    }
}
