import DiskCache
import HTTPTypes
import TestSupport
import Testing

@testable import Larder

@Suite("The sharing of origin requests through /fetch")
struct FetchSharingTests {
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    @Test("Simultaneous requests for two variants of an unknown URL cause two requests to the origin (RFC 9111 §4.1)")
    func variants() async throws {
        let gate = Gate("all clients to wait")
        let origin = try ScriptedOrigin { request, connection in
            try gate.waitBlocking()
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"], body: request["Accept-Language"] ?? "")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    let language = number % 2 == 0 ? "en" : "de"
                    group.addTask {
                        try await get(server, origin.url("/a"), [.acceptLanguage: language]).text == language
                    }
                }
                try await poll("all clients but one to wait") { server.service.metrics.joins.value == 19 }
                gate.open()
                for try await isRight in group { #expect(isRight) }
            }
            #expect(origin.requestCount == 2)
        }
    }

    @Test("If the answer to an authorised caller cannot be shared, the other callers still share an answer")
    func notForAuthorized() async throws {
        let gate = Gate("the answer for all")
        let origin = try ScriptedOrigin { request, connection in
            if request["Authorization"] == nil { try gate.waitBlocking() }
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a"), [.authorization: "Bearer alice"]).text == "0")
            try await server.waitForFetches()
            async let first = get(server, origin.url("/a"))
            async let second = get(server, origin.url("/a"))
            try await poll("a client to wait for the other client") { server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await [first.text, second.text] == ["1", "1"])
        }
    }

    @Test(
        "For 10 s after an error, requests share no fetch; a 304 for a client's own condition does not extend the 10 s"
    )
    func notForConditional() async throws {
        let origin = try ScriptedOrigin { request, connection in
            switch (request.index, request["If-None-Match"]) {
            case (0, _): try connection.respond(500, body: "")
            case (_, "\"v1\""): try connection.respond(304, fields: [.eTag: "\"v1\""])
            default: try connection.respond(fields: [.cacheControl: "max-age=60", .eTag: "\"v1\""], body: "body")
            }
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a")).status == 500)
            server.clock.advance(by: .seconds(6))
            #expect(try await get(server, origin.url("/a"), [.ifNoneMatch: "\"v1\""]).status == 304)
            server.clock.advance(by: .seconds(6))
            // Larder remembers the error for ten seconds. After this time, it asks the origin for the whole answer
            // again, without the client's condition.
            #expect(try await get(server, origin.url("/a"), [.ifNoneMatch: "\"v1\""]).status == 304)
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).text == "body")
            #expect(origin.requestCount == 3)
        }
    }

    @Test("An entry gets the tags of its first caller, of callers that join before or during the body, and of hits")
    func tags() async throws {
        let (head, body) = (Gate("the head"), Gate("the body"))
        let origin = try ScriptedOrigin { _, connection in
            try head.waitBlocking()
            try connection.sendHead(fields: [.cacheControl: "max-age=60", .contentLength: "4"])
            try connection.send("bo")
            try body.waitBlocking()
            try connection.send("dy")
        }
        defer { origin.stop() }
        let tags = HTTPField.Name("Larder-Tags")!
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            async let first = get(server, url, [tags: "a"])
            try await origin.waitForRequests(1)
            async let second = get(server, url, [tags: "b"])
            try await poll("the second caller to wait") { server.service.metrics.joins.value == 1 }
            head.open()
            async let third = get(server, url, [tags: "c"])
            try await poll("the third caller to join") { server.service.metrics.joins.value == 2 }
            body.open()
            #expect(try await [first.text, second.text, third.text] == ["body", "body", "body"])
            try await server.waitForFetches()
            #expect(try await get(server, url, [tags: "d"])["Cache-Status"]?.hasPrefix("larder; hit") == true)
            try await server.space.cache.flush()
            #expect(try server.space.cache.list().entries.map(\.tags) == [["a", "b", "c", "d"]])
        }
    }

    @Test("The tags of several Larder-Tags field lines form a single list")
    func tagLines() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            var fields: HTTPFields = [:]
            for tags in ["a, b", "", "c"] {
                fields.append(HTTPField(name: HTTPField.Name("Larder-Tags")!, value: tags))
            }
            #expect(try await get(server, origin.url("/a"), fields).status == 200)
            try await server.waitForFetches()
            #expect(try server.space.cache.list().entries.map(\.tags) == [["a", "b", "c"]])
        }
    }

    @Test("A transfer that no client reads ends when its body turns out to be too large to store")
    func unread() async throws {
        let (isAsked, hasLeft, isOver) = (Gate("the request"), Gate("the client to leave"), Gate("the transfer's end"))
        let origin = try ScriptedOrigin { _, connection in
            isAsked.open()
            try hasLeft.waitBlocking()
            try connection.startChunks(fields: [.cacheControl: "max-age=60"])
            defer { isOver.open() }
            for seed in 0..<200 { try connection.sendChunk(pattern(64 << 10, seed: seed)) }
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.entryLimit = 1 << 20 }) { (server) async throws in
            try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.sendRequest("GET", "/fetch/" + origin.url("/a"))
                try isAsked.waitBlocking()
            }
            hasLeft.open()
            try await isOver.wait()
            try await server.waitForFetches()
            #expect(server.space.cache.totals.entries == 0)
        }
    }

    @Test("Cache-Status of an answer too large to store says too-large or no-room")
    func tooLarge() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let count = request.target == "/large" ? 900_000 : 600_000
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: String(repeating: "x", count: count))
        }
        defer { origin.stop() }
        func limits(_ configuration: inout Configuration) {
            configuration.diskLimit = 1 << 20
            configuration.entryLimit = 800_000
        }
        try await TestServer.with(configure: limits) { (server) async throws in
            #expect(try await server.put("pinned", pattern(600_000, seed: 1), query: "pinned=true").status == 200)
            for (path, count, detail) in [("/large", 900_000, "too-large"), ("/other", 600_000, "no-room")] {
                let reply = try await get(server, origin.url(path))
                #expect(reply.body.count == count)
                #expect(reply["Cache-Status"] == "larder; fwd=uri-miss; detail=\(detail)")
            }
        }
    }

    @Test("An answer is not stored if its cache group is invalidated while the answer arrives (RFC 9875 §3)")
    func lateGroup() async throws {
        let gate = Gate("the invalidation")
        let origin = try ScriptedOrigin { request, connection in
            if request.method == "POST" {
                return try connection.respond(fields: [HTTPField.Name("Cache-Group-Invalidation")!: "\"g\""])
            }
            if request.index == 0 { try gate.waitBlocking() }
            try connection.respond(
                fields: [.cacheControl: "max-age=60", HTTPField.Name("Cache-Groups")!: "\"g\""],
                body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let first = get(server, origin.url("/a"))
            try await origin.waitForRequests(1)
            _ = try await HTTPClient(port: server.api.port).request("POST", "/fetch/" + origin.url("/b"), text: "x")
            try await server.space.cache.flush()
            gate.open()
            #expect(try await first.text == "0")
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).text == "2")
        }
    }

    @Test("The tags of a hit that is answered from several parts are added to each part")
    func partTags() async throws {
        let text = Array("0123456789".utf8)
        let origin = try ScriptedOrigin { request, connection in
            let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } ?? []
            try connection.respond(
                206,
                fields: [
                    .cacheControl: "max-age=60", .eTag: "\"v1\"", .contentRange: "bytes \(range[0])-\(range[1])/10",
                ], body: text[range[0]...range[1]])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for range in ["1-4", "5-9"] {
                _ = try await get(server, origin.url("/a"), [.range: "bytes=\(range)"])
                try await server.waitForFetches()
            }
            let fields: HTTPFields = [.range: "bytes=3-6", HTTPField.Name("Larder-Tags")!: "t"]
            #expect(try await get(server, origin.url("/a"), fields).text == "3456")
            #expect(try await server.space.cache.remove(matching: EntryFilter(tag: "t")) == 2)
        }
    }

    @Test(
        "If min-fresh or a cookie makes one client's answer unshareable, the other clients still share",
        arguments: [[.cacheControl: "min-fresh=5"], [.cookie: "id=1"]] as [HTTPFields])
    func notForOneClient(fields: HTTPFields) async throws {
        let gate = Gate("the answer for all")
        let origin = try ScriptedOrigin { request, connection in
            if request["Cookie"] != nil { return try connection.respond(401, fields: [.cacheControl: "no-store"]) }
            if request.index > 0 { try gate.waitBlocking() }
            try connection.respond(fields: [.cacheControl: "max-age=1"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await get(server, origin.url("/a"), fields)
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(2))
            async let first = get(server, origin.url("/a"))
            async let second = get(server, origin.url("/a"))
            try await poll("a client to wait for the other client") { server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await [first.text, second.text] == ["1", "1"])
        }
    }
}
