import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

@Suite("The call /explain")
struct ExplainTests {
    private func explain(_ url: String, more: String = "", _ server: TestServer) async throws -> JSON {
        let reply = try await server.get("/explain?url=\(url.percentEncoded)\(more)")
        #expect(reply.status == 200, "\(reply.text)")
        return try reply.json
    }

    @Test("The reason in /explain is absent, fresh, stale, downloading or refused, and Larder contacts no origin")
    func reasons() async throws {
        try await TestServer.withGatedOrigin(isHeld: { $0 == "/slow" }) { server, origin, gate in
            let (url, slow) = (origin.url("/a"), origin.url("/slow"))
            let spelled = "HTTP://127.0.0.1:\(origin.port)/x/../a#top"
            var answer = try await explain(spelled, server)
            #expect(answer["url"] == .string(url))
            #expect(answer["key"] == .string(md5(url)))
            #expect(answer["hit"] == false && answer["reason"] == "absent")
            #expect(answer["entry"] == .null && answer["download"] == .null && answer["responses"] == [])
            #expect(answer["layout"] == "hashed" && answer["localPath"] == .null)

            _ = try await server.download(["url": .string(url), "ttl": 60])
            answer = try await explain(spelled, server)
            #expect(answer["hit"] == true && answer["reason"] == "fresh")
            #expect(answer["entry"]?["key"] == .string(md5(url)))
            #expect(answer["entry"]?["hits"] == 0)
            server.clock.advance(by: .seconds(60))
            answer = try await explain(spelled, server)
            #expect(answer["hit"] == false && answer["reason"] == "stale")
            #expect(answer["detail"]?.stringValue?.contains("downloaded again") == true)
            #expect(origin.requestCount == 1)

            let connections = try await server.post(["url": .string(slow)], to: "/download", connections: 1)
            try await origin.waitForRequests(2)
            answer = try await explain(slow, server)
            #expect(answer["hit"] == false && answer["reason"] == "downloading")
            #expect(answer["download"]?["state"] == "running")
            gate.open()
            try await server.waitForSuccess(of: slow)
            #expect(try await explain(slow, server)["reason"] == "fresh")
            withExtendedLifetime(connections) {}

            let ftp = try await explain("ftp://h.example/file", server)
            #expect(ftp["hit"] == false && ftp["reason"] == "refused")
            #expect(ftp["detail"]?.stringValue?.contains("--schemes") == true)
        }
    }

    @Test("The detail in /explain for a refused URL is the same as in the error of a download of the URL")
    func refused() async throws {
        let denied = try AddressRule("*.denied.example")
        try await TestServer.with(configure: { $0.deniedOrigins = [denied] }) { (server) async throws in
            for url in [
                "http://10.0.0.1/a", "http://[::1]/a", "http://[::ffff:127.0.0.1]/a", "http://1.1.1.1:81/a",
                "http://a.denied.example/a", "http://127.0.0.1:\(server.api.port)/livez", "ftp://h.example/a",
            ] {
                let answer = try await explain(url, server)
                #expect(answer["hit"] == false && answer["reason"] == "refused", "\(url)")
                let refused = try await server.download(["url": .string(url)])
                #expect(refused.status == 403, "\(url)")
                #expect(try refused.member("detail") == answer["detail"], "\(url)")
            }
            try await server.putNamespace("narrow", ["origins": ["*.example.com:443"]])
            let path = "/explain?url=\("http://example.com/a".percentEncoded)"
            #expect(try await server.get(path).member("reason") == "absent")
            let narrow = try await server.inNamespace("narrow").get(path)
            #expect(try narrow.member("reason") == "refused")
            #expect(narrow.text.contains("example.com is not one of the namespace's origins"))
        }
    }

    @Test("The call /explain refuses a host name only by rules that need no address, because it sends no DNS query")
    func refusedName() async throws {
        try await TestServer.with(configure: { $0.allowedOrigins = [] }) { (server) async throws in
            let answer = try await explain("http://h.example:81/a", server)
            #expect(answer["reason"] == "refused")
            #expect(answer["detail"]?.stringValue?.contains("port 81 is not one of 80, 443") == true)
            #expect(try await explain("http://h.example/a", server)["reason"] == "absent")
        }
        // This server allows loopback addresses on any port. The name `h.example` may have a loopback address, so the
        // server does not refuse the URL.
        try await TestServer.with { (server) async throws in
            #expect(try await explain("http://h.example:81/a", server)["reason"] == "absent")
        }
    }

    @Test("The call /explain reports a fresh entry of a forbidden origin as a hit, and an expired entry as refused")
    func refusedOrigin() async throws {
        try await TestServer.with { (server) async throws in
            let url = "http://10.0.0.1/a"
            let stored = try await server.client.request(
                "PUT", "/json?url=\(url.percentEncoded)&ttl=60", fields: [.contentType: "application/json"],
                text: "[1]")
            #expect(stored.status == 200)
            var answer = try await explain(url, server)
            #expect(answer["hit"] == true && answer["reason"] == "fresh")
            #expect(try await server.download(["url": .string(url)]).member("outcome") == "cached")
            server.clock.advance(by: .seconds(60))
            answer = try await explain(url, server)
            #expect(answer["hit"] == false && answer["reason"] == "refused")
            #expect(answer["entry"]?["key"] == .string(md5(url)))
            #expect(try await server.download(["url": .string(url)]).status == 403)
        }
    }

    @Test(
        "The call /explain announces the revalidation of an expired entry with a validator, and adds params to the URL")
    func validator() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.eTag: "\"1\""], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "params": ["b": 1], "ttl": 0])
            let params = "&params=" + #"{"b":1}"#.percentEncoded
            let answer = try await explain(url, more: params, server)
            #expect(answer["url"] == .string(url + "?b=1"))
            #expect(answer["reason"] == "stale")
            #expect(answer["detail"]?.stringValue?.contains("would revalidate it") == true)
            #expect(try await explain(url, server)["reason"] == "absent")
            #expect(try await server.get("/explain?url=x").member("pointer") == "/url")
        }
    }

    @Test("The field localPath in /explain is the file that holds the body, or would hold it after a download")
    func path() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: request.target == "/large" ? String(repeating: "x", count: 100_000) : "x")
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.layout = .readable }) { (server) async throws in
            let url = origin.url("/docs/a?b=c")
            let expected = try await explain(url, server)
            let path = server.directory.path("cache/default/QUrlCaches/http/127.0.0.1_\(origin.port)/docs/a?b=c")
            #expect(expected["layout"] == "readable" && expected["localPath"] == .string(path))
            let entry = try await server.download(["url": .string(url), "ttl": 60]).member("entry")
            #expect(entry?["localPath"] == .string(path))
            #expect(try await explain(url, server)["localPath"] == .string(path))
        }
        try await TestServer.with { (server) async throws in
            for (target, isInline) in [("/small", true), ("/large", false)] {
                let url = origin.url(target)
                let entry = try await server.download(["url": .string(url), "ttl": 60]).member("entry")
                #expect((entry?["localPath"] == .null) == isInline)
                #expect(try await explain(url, server)["localPath"] == entry?["localPath"])
            }
        }
    }

    @Test("The call /explain lists the variants that /fetch stored for exactly this spelling of the URL, and no others")
    func responses() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .vary: "Accept"], body: request["Accept"] ?? "")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a/../b")
            for type in ["text/plain", "text/html"] {
                #expect(try await server.get("/fetch/\(url)", fields: [.accept: type]).status == 200)
            }
            _ = try await server.get("/fetch/\(origin.url("/b"))")
            let answer = try await explain(url, server)
            #expect(answer["url"] == .string(origin.url("/b")))
            #expect(answer["reason"] == "absent")
            let responses = try #require(answer["responses"]?.arrayValue)
            #expect(responses.count == 2)
            #expect(responses.allSatisfy { $0["url"] == .string(url) && $0["kind"] == "response" })
            let canonical = try #require(try await explain(origin.url("/b"), server)["responses"]?.arrayValue)
            #expect(canonical.compactMap { $0["url"] } == [.string(origin.url("/b"))])
        }
    }
}
