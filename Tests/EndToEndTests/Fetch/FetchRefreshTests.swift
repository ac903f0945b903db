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

    @Test("whoever has read a reload to its end does not get what was there before, because storing takes a moment")
    func reload() async throws {
        let origin = try ScriptedOrigin { request, connection in
            // Long enough for a file, so that storing it takes a while.
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
                    // So that there is an answer at hand.
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
        "Cache-Status says stored of a 304 only when what it says is stored (RFC 9211 §2.5)",
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

    @Test("a stale variant is brought up to date at once, although another one is being fetched (RFC 5861 §3)")
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
            try await server.waitForFlights()
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
