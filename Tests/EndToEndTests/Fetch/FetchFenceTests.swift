import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Content of other origins under the server's own name")
struct FetchFenceTests {
    private static let destination = HTTPField.Name("Sec-Fetch-Dest")!
    private static let policy = "sandbox; default-src 'none'"

    private func fetch(
        _ server: TestServer, _ url: String, _ fields: HTTPFields = [:], method: String = "GET"
    ) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request(method, "/fetch/" + url, fields: fields)
        try await server.waitForFetches()
        return reply
    }

    @Test("Every answer of /fetch has the CSP sandbox and nosniff, for every kind of request and every status")
    func policy() async throws {
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/gone": return connection.close()
            case "/missing": return try connection.respond(404, body: "<p>")
            case "/private": return try connection.respond(fields: [.cacheControl: "no-store"], body: "<p>")
            default: break
            }
            let isKnown = request["If-None-Match"] != nil
            try connection.respond(
                isKnown ? 304 : 200, fields: [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentType: "text/html"],
                body: isKnown ? "" : "<script>")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            func check(
                _ path: String, _ status: Int, _ fields: HTTPFields = [:], method: String = "GET",
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                let reply = try await fetch(server, origin.url(path), fields, method: method)
                #expect(reply.status == status, sourceLocation: sourceLocation)
                #expect(
                    reply.fields[values: .contentSecurityPolicy] == [Self.policy], sourceLocation: sourceLocation)
                #expect(reply.fields[values: .xContentTypeOptions] == ["nosniff"], sourceLocation: sourceLocation)
            }
            for fields: HTTPFields in [
                [:], [.accept: "image/*"], [.accept: "text/html"], [HTTPField.Name("Upgrade-Insecure-Requests")!: "1"],
                [Self.destination: "document"], [Self.destination: "fencedframe"], [Self.destination: "image"],
                [Self.destination: "empty"], [Self.destination: "object"], [Self.destination: "something-new"],
            ] {
                for _ in 0..<4 { try await check("/page", 200, fields) }
            }
            try await check("/page", 304, [.ifNoneMatch: "\"1\""])
            try await check("/page", 206, [.range: "bytes=0-1"])
            try await check("/page", 416, [.range: "bytes=99-"])
            try await check("/page", 412, [.ifMatch: "\"2\""])
            try await check("/page", 200, method: "HEAD")
            try await check("/page", 200, [.cacheControl: "no-cache"])
            try await check("/missing", 404)
            try await check("/private", 200)
            try await check("/private", 200, method: "POST")
            // Larder's own errors also have the CSP sandbox and nosniff.
            try await check("/gone", 502)
            try await check("/page", 400, [HTTPField.Name("Larder-TTL")!: "x"])
            try await check("/page", 504, [.cacheControl: "only-if-cached, no-cache"])
        }
    }

    @Test("An answer of /fetch keeps the origin's CSP beside Larder's, and has only Larder's X-Content-Type-Options")
    func ownPolicies() async throws {
        let origin = try ScriptedOrigin { _, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .xContentTypeOptions: "sniff"]
            fields.append(HTTPField(name: .contentSecurityPolicy, value: "img-src 'self'"))
            fields.append(HTTPField(name: .contentSecurityPolicy, value: "frame-ancestors 'none'"))
            try connection.respond(fields: fields, body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<5 {
                let reply = try await fetch(server, origin.url("/a"))
                #expect(
                    reply.fields[values: .contentSecurityPolicy]
                        == ["img-src 'self'", "frame-ancestors 'none'", Self.policy])
                #expect(reply.fields[values: .xContentTypeOptions] == ["nosniff"])
            }
        }
    }

    @Test(
        "Larder drops fields that concern the whole host from new and stored answers, 304, 103 and errors",
        arguments: [
            "Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security", "Public-Key-Pins",
            "Public-Key-Pins-Report-Only", "Alt-Svc", "NEL", "Report-To", "Reporting-Endpoints", "Expect-CT",
            "Set-Login", "IdP-SignIn-Status", "Secure-Session-Registration", "Secure-Session-Challenge",
            "Sec-Session-Registration", "Sec-Session-Challenge", "Activate-Storage-Access", "Shared-Storage-Write",
            "Observe-Browsing-Topics", "Attribution-Reporting-Register-Source", "Alternate-Protocol",
            "Attribution-Reporting-Register-Trigger", "Attribution-Reporting-Register-OS-Source",
            "Access-Control-Allow-Origin", "access-control-allow-credentials", "Access-Control-Expose-Headers",
            "Larder-Namespace", "LARDER-Anything", "Accept-CH", "Critical-CH", "Origin-Agent-Cluster",
            "Speculation-Rules", "Use-As-Dictionary", "aLT-sVC",
        ])
    func host(name: String) async throws {
        let name = try #require(HTTPField.Name(name))
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/hints" {
                try connection.send("HTTP/1.1 103 Early Hints\r\n\(name): x\r\nLink: </a>\r\n\r\n")
            }
            let isKnown = request["If-None-Match"] != nil
            let status = isKnown ? 304 : request.target == "/error" ? 500 : 200
            var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", HTTPField.Name("X-Other")!: "x"]
            for value in ["one", "two"] { fields.append(HTTPField(name: name, value: value)) }
            try connection.respond(status, fields: fields, body: isKnown ? "" : "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for path in ["/a", "/error", "/hints"] {
                for fields: HTTPFields in [
                    [:], [:], [:], [:], [.cacheControl: "no-cache"], [.ifNoneMatch: "\"1\""], [:],
                ] {
                    let reply = try await fetch(server, origin.url(path), fields)
                    #expect(reply[name] == nil, "\(path)")
                    if reply.status == 200 { #expect(reply["X-Other"] == "x") }
                    for hints in reply.interim {
                        #expect(hints[name] == nil)
                        #expect(hints["Link"] == "</a>")
                        #expect(hints[.contentSecurityPolicy] == Self.policy)
                    }
                }
            }
            #expect(try await fetch(server, origin.url("/a"), method: "HEAD")[name] == nil)
            #expect(try await fetch(server, origin.url("/a"), method: "POST")[name] == nil)
        }
    }

    @Test("A page of an allowed origin gets Larder's own CORS fields, and none of the fetched answer's CORS fields")
    func crossOrigin() async throws {
        let origin = try ScriptedOrigin { _, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .accessControlAllowOrigin: "*"]
            fields[.accessControlAllowCredentials] = "true"
            fields[.accessControlExposeHeaders] = "X-Secret"
            fields[.accessControlMaxAge] = "86400"
            try connection.respond(fields: fields, body: "x")
        }
        defer { origin.stop() }
        let app = "https://app.example"
        try await TestServer.with(configure: { $0.corsOrigins = [app] }) { (server) async throws in
            for _ in 0..<4 {
                let reply = try await fetch(
                    server, origin.url("/a"),
                    [HTTPField.Name("Origin")!: app, HTTPField.Name("Sec-Fetch-Site")!: "cross-site"])
                #expect(reply.fields[values: .accessControlAllowOrigin] == [app])
                #expect(reply.fields[values: .accessControlExposeHeaders] == ["*"])
                #expect(reply[.accessControlAllowCredentials] == nil && reply[.accessControlMaxAge] == nil)
                #expect(try await fetch(server, origin.url("/a"))[.accessControlAllowOrigin] == nil)
            }
        }
    }

    /// The fields with which browsers ask for the script of a worker.
    private static let workerRequests: [(String, String)] = [
        ("Sec-Fetch-Dest", "worker"), ("Sec-Fetch-Dest", "sharedworker"), ("Sec-Fetch-Dest", "serviceworker"),
        ("sec-fetch-dest", "ServiceWorker"), ("Service-Worker", "script"), ("service-worker", "Script"),
    ]

    @Test(
        "A request for a worker's script gets 403, also if an answer is ready; Vary names the fields that decide this",
        arguments: workerRequests)
    func workers(name: String, value: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60", .vary: "Foo"], body: "postMessage(1)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            for kind in [nil, "script"] as [String?] {
                var fields = HTTPFields()
                fields[Self.destination] = kind
                for _ in 0..<4 {
                    #expect(
                        try await fetch(server, url, fields).fields[values: .vary]
                            == ["Foo", "Sec-Fetch-Dest, Service-Worker"])
                }
                let before = server.space.cache.hitsAtHand
                #expect(try await fetch(server, url, fields).status == 200)
                #expect(server.space.cache.hitsAtHand == before + 1)
                for method in ["GET", "HEAD"] {
                    let refused = try await fetch(
                        server, url, [try #require(HTTPField.Name(name)): value], method: method)
                    #expect(refused.status == 403)
                    #expect(refused[.vary] == "Sec-Fetch-Dest, Service-Worker")
                    #expect(refused[.contentSecurityPolicy] == Self.policy)
                }
                #expect(server.space.cache.hitsAtHand == before + 1)
            }
            #expect(origin.requestCount == 1)
        }
    }

    @Test(
        "A request for a worker's script is refused at /entries/{key}/content and /json, also if an answer is ready",
        arguments: workerRequests)
    func contentForWorkers(name: String, value: String) async throws {
        try await TestServer.with { (server) async throws in
            #expect(
                try await server.put("k", Array("alert(1)".utf8), fields: [.contentType: "text/javascript"]).status
                    == 200)
            let page = "/json?url=http%3A%2F%2Fa.example%2F"
            _ = try await server.client.request("PUT", page, fields: [.contentType: "application/json"], text: "1")
            for target in ["/entries/k/content", page] {
                for _ in 0..<4 {
                    let reply = try await server.get(target)
                    #expect(reply.status == 200)
                    #expect(reply[.vary] == "Larder-Namespace, Sec-Fetch-Dest, Service-Worker")
                    let refused = try await server.get(target, fields: [try #require(HTTPField.Name(name)): value])
                    #expect(refused.status == 403)
                    #expect(refused[.vary] == "Larder-Namespace, Sec-Fetch-Dest, Service-Worker")
                }
                #expect(try await server.get(target, fields: [Self.destination: "script"]).status == 200)
            }
        }
    }

    @Test("Every answer of /entries/{key}/content and /json has the CSP sandbox and nosniff, with every status")
    func content() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("k", Array("<b>".utf8))
            let etag = try #require(try await server.get("/entries/k/content")[.eTag])
            _ = try await server.client.request(
                "PUT", "/json?url=http%3A%2F%2Fa.example%2F", fields: [.contentType: "application/json"], text: "1")
            for (target, fields, status) in [
                ("/entries/k/content", [:], 200), ("/entries/k/content", [.range: "bytes=0-1"], 206),
                ("/entries/k/content", [.ifNoneMatch: etag], 304), ("/entries/k/content", [.ifMatch: "\"x\""], 412),
                ("/entries/k/content", [.range: "bytes=99-"], 416), ("/entries/k/content?x=1", [:], 400),
                ("/entries/none/content", [:], 404), ("/@none/entries/k/content", [:], 404),
                ("/entries/k/content", [Self.destination: "worker"], 403),
                ("/json?url=http%3A%2F%2Fa.example%2F", [:], 200), ("/json?url=http%3A%2F%2Fb.example%2F", [:], 404),
                ("/json", [:], 400),
            ] as [(String, HTTPFields, Int)] {
                for method in ["GET", "HEAD"] {
                    let reply = try await server.client.request(method, target, fields: fields)
                    // Only GET has ranges (RFC 9110 §14.2).
                    let isWhole = method == "HEAD" && fields.contains(.range)
                    #expect(reply.status == (isWhole ? 200 : status), "\(method) \(target)")
                    #expect(reply.fields[values: .contentSecurityPolicy] == [Self.policy], "\(method) \(target)")
                    #expect(reply.fields[values: .xContentTypeOptions] == ["nosniff"], "\(method) \(target)")
                }
            }
        }
    }
}
