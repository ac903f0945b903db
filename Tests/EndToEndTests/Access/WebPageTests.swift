import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Requests that web pages in a user's browser send to a server on loopback without tokens.
@Suite("Requests of web pages")
struct WebPageTests {
    private static let site = HTTPField.Name("Sec-Fetch-Site")!
    private static let contentVary = "Larder-Namespace, Sec-Fetch-Dest, Service-Worker, Origin"
    private static let origin = HTTPField.Name("Origin")!
    private static let host = HTTPField.Name("Host")!

    /// Stores an entry, and requests a target until its answer is ready.
    private func warm(_ server: TestServer, _ target: String) async throws {
        #expect(try await server.put("a", Array("one".utf8)).status == 200)
        for _ in 0..<20 where server.space.cache.hitsAtHand == 0 { _ = try await server.get(target) }
        #expect(server.space.cache.hitsAtHand > 0)
    }

    @Test("A Host field with a foreign name gets 421, even if an answer is ready; localhost and addresses are accepted")
    func rebinding() async throws {
        try await TestServer.with(configure: { $0.allowedHosts = ["cache.internal"] }) { (server) async throws in
            let target = "/entries/a/content"
            try await warm(server, target)
            let port = server.api.port
            for name in [
                "localhost", "LOCALHOST:\(port)", "127.0.0.1", "127.0.0.1:\(port)", "[::1]:\(port)", "127.9.9.9",
                "cache.internal", "Cache.Internal:80",
            ] {
                for path in [target, "/entries", "/stats"] {
                    #expect(try await server.get(path, fields: [Self.host: name]).status == 200, "\(name) \(path)")
                }
            }
            for name in [
                "evil.example", "evil.example:\(port)", "localhost.evil.example", "127.0.0.1.evil.example",
                "xlocalhost",
                "cache.internal.evil", "127.0.0.x", "evil", "localhost.", ".", "[evil.example]",
            ] {
                for path in [target, "/entries", "/stats", "/nowhere"] {
                    let reply = try await HTTPClient(port: port).request("GET", path, fields: [Self.host: name])
                    #expect(reply.status == 421, "\(name) \(path)")
                }
            }
        }
    }

    @Test("For a target that is a whole URL, Larder checks the URL's host and ignores the Host field (RFC 9112 §3.2.2)")
    func rebindingInTarget() async throws {
        try await TestServer.with { (server) async throws in
            let path = "/entries/a/content"
            try await warm(server, path)
            for (name, host, status) in [
                ("evil.example", "127.0.0.1", 421), (":80", "127.0.0.1", 421), ("127.0.0.1", "evil.example", 200),
                ("localhost:80", "127.0.0.1", 200), ("evil.example", "evil.example", 421),
                ("[::1]evil.example", "127.0.0.1", 404), ("127.0.0.1:evil.example", "127.0.0.1", 404),
            ] {
                let fields: HTTPFields = [Self.host: host]
                let client = HTTPClient(port: server.api.port)
                let reply = try await client.request("GET", "http://\(name)\(path)", fields: fields)
                #expect(reply.status == status, "\(name), Host: \(host)")
            }
            let fields: HTTPFields = [Self.host: "127.0.0.1"]
            let client = HTTPClient(port: server.api.port)
            #expect(try await client.request("DELETE", "http://evil.example/entries/a", fields: fields).status == 421)
            #expect(try await server.get(path).text == "one")
        }
    }

    @Test("A call by a page of another site is refused and has no effect")
    func crossSite() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/entries/a/content"
            try await warm(server, target)
            let download = #"{"url": "\#(origin.url("/a"))"}"#
            for fields: HTTPFields in [
                [Self.origin: "https://evil.example"], [Self.origin: "null"], [Self.site: "cross-site"],
                [Self.site: "Same-Site"], [Self.site: "weird"],
                [Self.origin: "http://localhost:3000", Self.site: "same-site"],
                // A page of another server on this machine is foreign, too.
                [Self.origin: "http://127.0.0.1"],
                [Self.origin: "http://127.0.0.1:\(server.api.port)", Self.site: "cross-site"],
            ] {
                #expect(try await server.get(target, fields: fields).status == 403, "\(fields)")
                #expect(try await server.get("/fetch/\(origin.url("/b"))", fields: fields).status == 403)
                var form = fields
                // A browser sends a form of this media type without a preflight.
                form[.contentType] = "application/x-www-form-urlencoded"
                let reply = try await server.client.request("POST", "/download", fields: form, text: download)
                #expect(reply.status == 403)
                #expect(try await server.client.request("DELETE", "/entries?all=true", fields: fields).status == 403)
                #expect(try await server.get("/livez", fields: fields).status == 200)
            }
            #expect(origin.requestCount == 0)
            let own = "http://127.0.0.1:\(server.api.port)"
            for fields: HTTPFields in [
                [Self.site: "none"], [Self.site: "same-origin"], [Self.origin: own, Self.site: "same-origin"],
            ] {
                let reply = try await server.get(
                    target, fields: fields.merging(host: "127.0.0.1:\(server.api.port)"))
                #expect(reply.text == "one", "\(fields)")
                #expect(reply[.accessControlAllowOrigin] == nil)
            }
        }
    }

    @Test("A link on a page of another site can open stored entries and their list, but can make no other call")
    func links() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await server.put("a", Array("one".utf8))
            let link: HTTPFields = [
                Self.site: "cross-site", HTTPField.Name("Sec-Fetch-Mode")!: "navigate",
                HTTPField.Name("Sec-Fetch-Dest")!: "document",
            ]
            #expect(try await server.get("/entries/a/content", fields: link).text == "one")
            #expect(try await server.get("/entries", fields: link).status == 200)
            for path in ["/fetch/\(origin.url("/a"))", "/stats"] {
                #expect(try await server.get(path, fields: link).status == 403, "\(path)")
            }
            #expect(try await server.client.request("DELETE", "/entries?all=true", fields: link).status == 403)
            var frame = link
            frame[HTTPField.Name("Sec-Fetch-Dest")!] = "iframe"
            #expect(try await server.get("/entries/a/content", fields: frame).status == 403)
            #expect(origin.requestCount == 0)
        }
    }

    @Test("A request without Host is served, because it cannot come from a browser")
    func withoutHost() async throws {
        try await TestServer.with { (server) async throws in
            let text = try await server.client.withConnection { connection in
                try connection.send("GET /entries HTTP/1.0\r\n\r\n")
                return String(decoding: try connection.readToEnd(), as: UTF8.self)
            }
            #expect(text.hasPrefix("HTTP/1.0 200 ") || text.hasPrefix("HTTP/1.1 200 "), "\(text)")
        }
    }

    @Test("A page of an allowed origin may make calls and read the answers, and a page of another origin may not")
    func allowed() async throws {
        let app = "https://app.example"
        try await TestServer.with(configure: { $0.corsOrigins = [app] }) { (server) async throws in
            let fields: HTTPFields = [Self.origin: app, Self.site: "cross-site"]
            for _ in 0..<5 {
                _ = try await server.put("a", Array("one".utf8), fields: fields)
                let reply = try await server.get("/entries/a/content", fields: fields)
                #expect(reply.text == "one")
                #expect(reply[.accessControlAllowOrigin] == app)
                #expect(reply[.vary] == Self.contentVary)
            }
            // An answer to a request without Origin has no CORS fields, so a cache must not give this answer to a page.
            // This answer therefore has the same Vary.
            for _ in 0..<4 { #expect(try await server.get("/entries/a/content")[.vary] == Self.contentVary) }
            #expect(server.space.cache.hitsAtHand > 0)
            // The page can read an error, too.
            let missing = try await server.get("/entries/none", fields: fields)
            #expect(missing.status == 404 && missing[.accessControlAllowOrigin] == app)
            var asking = fields
            asking[.accessControlRequestMethod] = "PUT"
            asking[.accessControlRequestHeaders] = "content-type"
            for path in ["/entries/a/content", "/fetch/http://127.0.0.1:1/", "/nowhere"] {
                let preflight = try await HTTPClient(port: server.api.port).request("OPTIONS", path, fields: asking)
                #expect(preflight.status == 204, "\(path)")
                #expect(preflight[.accessControlAllowOrigin] == app)
                #expect(preflight[.accessControlAllowMethods] == "PUT")
                #expect(preflight[.accessControlAllowHeaders] == "content-type")
            }
            asking[Self.origin] = "https://evil.example"
            let client = HTTPClient(port: server.api.port)
            #expect(try await client.request("OPTIONS", "/entries", fields: asking).status == 403)
            let evil = try await server.get("/entries", fields: [Self.origin: "https://evil.example"])
            #expect(evil.status == 403 && evil[.accessControlAllowOrigin] == nil)
        }
    }

    @Test("A CORS preflight needs no token, but the call after the preflight needs a token")
    func withTokens() async throws {
        let app = "https://app.example"
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store, configure: { $0.corsOrigins = ["*"] }) {
            (server) async throws in
            var fields: HTTPFields = [Self.origin: app, Self.site: "cross-site"]
            let refused = try await server.get("/entries", fields: fields)
            #expect(refused.status == 401 && refused[.accessControlAllowOrigin] == app)
            fields[.accessControlRequestMethod] = "GET"
            let client = HTTPClient(port: server.api.port)
            #expect(try await client.request("OPTIONS", "/entries", fields: fields).status == 204)
            fields[.authorization] = tokens.fields("me", for: "/entries")[.authorization]
            fields[Self.host] = "public.example"
            #expect(try await server.get("/entries", fields: fields).status == 200)
        }
    }
}

extension HTTPFields {
    fileprivate func merging(host: String) -> HTTPFields {
        var fields = self
        fields[HTTPField.Name("Host")!] = host
        return fields
    }
}
