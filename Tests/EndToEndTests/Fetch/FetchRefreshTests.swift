import HTTPTypes
import TestSupport
import Testing

@Suite("The refreshing of stored answers through /fetch")
struct FetchRefreshTests {
    private func ask(_ server: TestServer, _ method: String, _ url: String) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request(method, "/fetch/" + url)
        try await server.waitForFetches()
        return reply
    }

    @Test("A HEAD request that gets a stale answer starts a background refresh with GET (RFC 5861 §3)")
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

    @Test("A client that has read a reloaded answer to its end never again gets the older answer")
    func reload() async throws {
        let origin = try ScriptedOrigin { request, connection in
            // The body is too long for the slab, so storing it takes longer.
            let body = "version \(request.index) " + String(repeating: "x", count: 50_000)
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: body)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            try await blocking {
                let connection = try RawConnection(port: server.api.port)
                func version(_ line: String = "") throws -> String {
                    try connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(line)\r\n")
                    let reply = try connection.readReply()
                    return String(reply.text.prefix { $0 != "x" }) + (reply["Cache-Status"] ?? "")
                }
                _ = try version()
                for number in 1...100 {
                    // Repeated requests make the answer ready.
                    for _ in 0..<3 { _ = try version() }
                    let reload = try version("Cache-Control: no-cache\r\n")
                    #expect(reload.hasPrefix("version \(number) "))
                    let next = try version()
                    #expect(next.hasPrefix("version \(number) "))
                }
            }
        }
    }

    @Test(
        "Cache-Status reports stored for a 304 only when the cache keeps the 304's update (RFC 9211 §2.5)",
        arguments: ["max-age=60", "no-store"])
    func stored(cacheControl: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.eTag: "\"v1\"", .cacheControl: request.index == 0 ? "max-age=60" : cacheControl]
            try connection.respond(request["If-None-Match"] == nil ? 200 : 304, fields: fields, body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await ask(server, "GET", url)
            server.clock.advance(by: .seconds(61))
            let reply = try await ask(server, "GET", url)
            #expect(reply.text == "body")
            let status = try #require(reply["Cache-Status"])
            #expect(status.contains("fwd-status=304"))
            #expect(status.contains("; stored") == (cacheControl != "no-store"), "\(status)")
        }
    }

    @Test("A stale variant is refreshed immediately, even during a fetch of another variant (RFC 5861 §3)")
    func otherVariantUnderWay() async throws {
        let gate = Gate("the answer in German")
        let origin = try ScriptedOrigin { request, connection in
            if request["Accept-Language"] == "de" { try gate.waitBlocking() }
            try connection.respond(
                fields: [.cacheControl: "max-age=10, stale-while-revalidate=60", .vary: "Accept-Language"],
                body: "\(request["Accept-Language"] ?? "") \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let client = HTTPClient(port: server.api.port)
            let target = "/fetch/" + origin.url("/a")
            _ = try await client.request("GET", target, fields: [.acceptLanguage: "en"])
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(20))
            async let german = client.request("GET", target, fields: [.acceptLanguage: "de"])
            try await origin.waitForRequests(2)
            #expect(try await client.request("GET", target, fields: [.acceptLanguage: "en"]).text == "en 0")
            try await origin.waitForRequests(3)
            gate.open()
            #expect(try await german.text == "de 1")
        }
    }
}
