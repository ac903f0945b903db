import HTTPTypes
import TestSupport
import Testing

@Suite("The privacy of answers through /fetch")
struct FetchPrivacyTests {
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    @Test(
        "A part that was stored for a request with Authorization and a ttl is never combined with public parts")
    func partsOfOthers() async throws {
        let body = Array("0123456789".utf8)
        let origin = try ScriptedOrigin { request, connection in
            let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) } ?? []
            guard range.count == 2, range[1] < 5 || request["Authorization"] != nil else {
                return try connection.respond(403, body: "not yours")
            }
            try connection.respond(
                206,
                fields: [
                    .cacheControl: "max-age=60", .eTag: "\"v1\"",
                    .contentRange: "bytes \(range[0])-\(range[1])/\(body.count)",
                ], body: body[range[0]...range[1]])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let mine: HTTPFields = [.authorization: "Bearer alice", .init("Larder-TTL")!: "60"]
            #expect(try await get(server, url, mine + [.range: "bytes=5-9"]).text == "56789")
            try await server.waitForFetches()
            #expect(try await get(server, url, [.range: "bytes=1-4"]).text == "1234")
            try await server.waitForFetches()
            #expect(try await get(server, url, [.range: "bytes=1-9"]).status == 403)
            #expect(try await get(server, url, [.range: "bytes=2-3"]).text == "23")
            #expect(origin.requestCount == 3)
        }
    }

    @Test(
        "A 304 with private or no-store reaches the revalidating client and no waiter (RFC 9111 §5.2.2.5, §5.2.2.7)",
        arguments: ["private, max-age=60", "no-store, max-age=60"])
    func confirmedForOne(cacheControl: String) async throws {
        let gate = Gate("the first 304")
        let origin = try ScriptedOrigin { request, connection in
            guard request["If-None-Match"] != nil else {
                return try connection.respond(
                    fields: [.cacheControl: "max-age=10", .eTag: "\"v1\""], body: "for all")
            }
            if request.index == 1 { try gate.waitBlocking() }
            try connection.respond(
                304,
                fields: [.cacheControl: cacheControl, .eTag: "\"v1\"", .setCookie: "id=\(request["Cookie"] ?? "")"])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url)
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            async let first = get(server, url, [.cookie: "alice"])
            try await origin.waitForRequests(2)
            async let second = get(server, url, [.cookie: "bob"])
            try await poll("the second client to wait") { server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await first[.setCookie] == "id=alice")
            #expect(try await second[.setCookie] == "id=bob")
            #expect(try await second.text == "for all")
        }
    }

    @Test("The cookie of a 304 reaches the client of the revalidation, and no waiter (RFC 9111 §7.3)")
    func confirmedCookie() async throws {
        let gate = Gate("the first 304")
        let origin = try ScriptedOrigin { request, connection in
            guard request["If-None-Match"] != nil else {
                return try connection.respond(
                    fields: [.cacheControl: "max-age=10", .eTag: "\"v1\"", .setCookie: "id=first"], body: "for all")
            }
            try gate.waitBlocking()
            try connection.respond(
                304,
                fields: [.cacheControl: "max-age=10", .eTag: "\"v1\"", .setCookie: "id=\(request["Cookie"] ?? "")"])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url)
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            async let first = get(server, url, [.cookie: "alice"])
            try await origin.waitForRequests(2)
            async let second = get(server, url, [.cookie: "bob"])
            try await poll("the second client to wait") { server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await first.fields[values: .setCookie] == ["id=alice"])
            #expect(try await second.fields[values: .setCookie] == ["id=first"])
            #expect(try await get(server, url).fields[values: .setCookie] == ["id=first"])
            #expect(origin.requestCount == 2)
        }
    }

    @Test("An answer with a cookie and no stated lifetime reaches only the client of the fetch (RFC 9111 §7.3)")
    func unstatedCookie() async throws {
        let gate = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            let cookie = "id=\(request["Cookie"] ?? "")"
            let old = "Sun, 06 Nov 1994 08:49:37 GMT"
            try connection.respond(
                fields: [.eTag: "\"v1\"", .lastModified: old, .setCookie: cookie], body: cookie)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            async let first = get(server, url, [.cookie: "alice"])
            try await origin.waitForRequests(1)
            async let second = get(server, url, [.cookie: "bob"])
            try await poll("the second request") { origin.requestCount == 2 || server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await first[.setCookie] == "id=alice")
            #expect(try await second[.setCookie] == "id=bob")
            #expect(try await get(server, url, [.cookie: "carol"]).text == "id=carol")
        }
    }

    @Test("A 103 reaches only the client of the request that the origin answers with it (RFC 8297 §2)")
    func hintsOfOthers() async throws {
        let gate = Gate("the hints")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </\(request["Cookie"] ?? "")>\r\n\r\n")
            try connection.respond(fields: [.cacheControl: "private"], body: request["Cookie"] ?? "")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let first = get(server, origin.url("/a"), [.cookie: "alice"])
            try await origin.waitForRequests(1)
            async let second = get(server, origin.url("/a"), [.cookie: "bob"])
            try await poll("the second client to wait") { server.service.metrics.joins.value == 1 }
            gate.open()
            #expect(try await first.interim.compactMap { $0["Link"] } == ["</alice>"])
            #expect(try await second.interim.compactMap { $0["Link"] } == ["</bob>"])
            #expect(try await second.text == "bob")
        }
    }

    @Test("An answer that Larder stores because of a ttl loses its cookies, and only the fetching client gets them")
    func cookieUnderTTL() async throws {
        let gate = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            var fields: HTTPFields = [.eTag: "\"v1\"", .setCookie: "id=\(request["Cookie"] ?? "")"]
            if request.target == "/stated" { fields[.cacheControl] = "max-age=10" }
            // Larder does not store a hop-by-hop field, so the stored fields differ from the received fields.
            if request.target == "/hop" { (fields[.connection], fields[.init("X-Hop")!]) = ("x-hop", "1") }
            let isKnown = request["If-None-Match"] != nil
            try connection.respond(isKnown ? 304 : 200, fields: fields, body: isKnown ? "" : "body")
        }
        defer {
            gate.open()
            origin.stop()
        }
        let ttl = HTTPField.Name("Larder-TTL")!
        try await TestServer.with { (server) async throws in
            for path in ["/unstated", "/stated", "/hop"] {
                let url = origin.url(path)
                async let first = get(server, url, [ttl: "60", .cookie: "alice"])
                if path == "/unstated" {
                    try await origin.waitForRequests(1)
                    gate.open()
                }
                #expect(try await first[.setCookie] == "id=alice", "\(path)")
                try await server.waitForFetches()
                for _ in 0..<4 {
                    let second = try await get(server, url, [ttl: "60"])
                    #expect(second.text == "body" && second[.setCookie] == nil, "\(path)")
                }
                server.clock.advance(by: .seconds(61))
                // The cookie of a 304 reaches the client of the revalidation, and is not stored.
                #expect(try await get(server, url, [ttl: "60", .cookie: "bob"])[.setCookie] == "id=bob", "\(path)")
                try await server.waitForFetches()
                #expect(try await get(server, url, [ttl: "60"])[.setCookie] == nil, "\(path)")
            }
        }
    }

    @Test(
        "After the origin's lifetime ends, an answer that only a caller's ttl keeps fresh is served without its cookie")
    func cookieBeforeTTL() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] != nil { return try connection.respond(304, fields: [.eTag: "\"v1\""]) }
            try connection.respond(
                fields: [.cacheControl: "max-age=10", .eTag: "\"v1\"", .setCookie: "id=first"], body: "body")
        }
        defer { origin.stop() }
        let ttl = HTTPField.Name("Larder-TTL")!
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await get(server, url)[.setCookie] == "id=first")
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(11))
            _ = try await get(server, url, [ttl: "600"])
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(60))
            let reply = try await get(server, url, [ttl: "600"])
            #expect(reply.text == "body" && reply[.setCookie] == nil)
            #expect(origin.requestCount == 2)
        }
    }

    @Test(
        "A private answer to a revalidation or a HEAD is not shared, even if Connection names Cache-Control",
        arguments: ["GET", "HEAD"])
    func hiddenPrivate(method: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            guard request.index > 0 else {
                return try connection.respond(fields: [.cacheControl: "max-age=10", .eTag: "\"v1\""], body: "body")
            }
            try connection.respond(
                request["If-None-Match"] == nil ? 200 : 304,
                fields: [
                    .connection: "cache-control", .cacheControl: "private", .expires: "Fri, 01 Jan 2100 00:00:00 GMT",
                    .eTag: "\"v1\"", .setCookie: "id=\(request.index)",
                ], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url)
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            let client = HTTPClient(port: server.api.port)
            #expect(try await client.request(method, "/fetch/" + url)[.setCookie] == "id=1")
            try await server.waitForFetches()
            #expect(try await get(server, url)[.setCookie] == "id=2")
        }
    }

    @Test("A private answer with Connection: cache-control stays private after a 304 without Cache-Control")
    func hiddenPrivateStays() async throws {
        let origin = try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [.eTag: "\"v1\"", .lastModified: "Thu, 01 Jan 2015 00:00:00 GMT"]
            if request["If-None-Match"] != nil { return try connection.respond(304, fields: fields) }
            fields[.connection] = "cache-control"
            fields[.cacheControl] = "private"
            try connection.respond(fields: fields, body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let mine: HTTPFields = [.init("Larder-TTL")!: "60"]
            #expect(try await get(server, url, mine).text == "0")
            try await server.waitForFetches()
            #expect(try await get(server, url, mine + [.cacheControl: "no-cache"]).text == "0")
            try await server.waitForFetches()
            #expect(try await get(server, url).text == "2")
        }
    }

    @Test("A private 304 for a caller with a ttl makes no answer available to callers without a ttl")
    func privateForTTL() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] != nil {
                return try connection.respond(
                    304,
                    fields: [
                        .connection: "cache-control", .cacheControl: "private", .eTag: "\"v1\"",
                        .setCookie: "id=\(request.index)",
                    ])
            }
            try connection.respond(fields: [.cacheControl: "max-age=10", .eTag: "\"v1\""], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url)
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            #expect(try await get(server, url, [.init("Larder-TTL")!: "60"])[.setCookie] == "id=1")
            try await server.waitForFetches()
            #expect(try await get(server, url)[.setCookie] != "id=1")
        }
    }
}
