import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Access by tokens")
struct AccessTests {
    private static let publicPaths: Set<String> = [
        "/livez", "/readyz", "/openapi.yaml", "/docs", "/docs/style.css", "/", "/dashboard/main.js",
    ]

    /// Returns every call of the server with two targets: `held` names a stored entry, and `none` names a missing
    /// entry.
    private static func calls(
        of server: TestServer, held: String, origin: String
    ) -> [(method: String, held: String, none: String)] {
        server.api.routes.flatMap { method, pattern -> [(method: String, held: String, none: String)] in
            // A ticket in the path takes the place of a token; see `ReplayRouteTests`.
            if pattern.contains("/:ticket/") { return [] }
            let methods = method == "*" ? ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"] : [method]
            let both = ["held", "none"].map { which in
                let key = which == "held" ? held : "none"
                switch pattern {
                case "/fetch/*": return "/fetch/\(origin)/\(which)"
                case "/fetch": return "/fetch?url=\("\(origin)/\(which)".percentEncoded)"
                case "/json", "/explain": return "\(pattern)?url=\("\(origin)/\(which)".percentEncoded)"
                // The server refuses the invalid type immediately. The answer to a valid call would not end.
                case "/events": return "/events?type=none"
                case "/dashboard/:file": return "/dashboard/main.js"
                case "/namespaces/:name": return "/namespaces/\(which == "held" ? "default" : "none")"
                default: return pattern.replacing(":key", with: key)
                }
            }
            return methods.map { ($0, both[0], both[1]) }
        }
    }

    @Test("A call without a sufficient token reveals neither data nor whether an entry exists")
    func refused() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: "application/json", .cacheControl: "max-age=60"], body: "{}")
        }
        defer { origin.stop() }
        let lacking = Scope.allCases.map { scope in
            TestTokens.Plan(name: "no-\(scope)", scopes: Set(Scope.allCases).subtracting([scope]))
        }
        let tokens = try TestTokens(
            lacking + [TestTokens.Plan(name: "me"), TestTokens.Plan(name: "other", namespaces: ["other"])])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            // This client makes no check against openapi.yaml, because the document lacks some of the methods.
            let client = HTTPClient(port: server.api.port)
            func ask(_ method: String, _ target: String, _ fields: HTTPFields) async throws -> HTTPReply {
                var fields = fields
                if method == "POST", target.hasPrefix("/download") { fields[.contentType] = "application/json" }
                return try await client.request(method, target, fields: fields)
            }
            let json = origin.url("/held")
            for (method, target) in [
                ("PUT", "/entries/held/content"), ("GET", "/fetch/\(json)"),
                ("PUT", "/json?url=\(json.percentEncoded)"),
            ] {
                var fields = tokens.fields("me", for: target)
                if method == "PUT" { fields[.contentType] = "application/json" }
                let body = method == "PUT" ? "[1]" : ""
                let reply = try await client.request(method, target, fields: fields, text: body)
                #expect(reply.status == 200, "\(method) \(target): \(reply.text)")
            }
            let calls = Self.calls(of: server, held: "held", origin: origin.url(""))
            #expect(calls.count >= 28)
            for (method, held, none) in calls {
                let path = String(held.prefix { $0 != "?" })
                if Self.publicPaths.contains(path) {
                    #expect(try await ask(method, held, [:]).status == 200, "\(method) \(held)")
                    #expect(try await ask(method, held, TestTokens.fields("Bearer x", for: held)).status == 200)
                    // On a public path, a method other than GET and HEAD gets 405, even without a token.
                    let other = try await ask("DELETE", held, [:])
                    #expect(other.status == 405 && other["Allow"] == "GET, HEAD", "DELETE \(held)")
                    continue
                }
                var refusedScopes = 0
                let wrong = [
                    "Bearer larder_me_\(String(repeating: "A", count: 43))", "Bearer x", "Basic bWU6eA==", "Bearer",
                ]
                var attempts: [(String, (String) -> HTTPFields, Int)] = [("no token", { _ in [:] }, 401)]
                for value in wrong { attempts.append((value, { TestTokens.fields(value, for: $0) }, 401)) }
                attempts.append(("other namespace", { tokens.fields("other", for: $0, in: "default") }, 403))
                for (what, fields, status) in attempts {
                    let replies = [
                        try await ask(method, TestTokens.target(held, in: "default"), fields(held)),
                        try await ask(method, TestTokens.target(none, in: "default"), fields(none)),
                    ]
                    #expect(replies.map(\.status) == [status, status], "\(method) \(held), \(what)")
                    #expect(replies[0].body == replies[1].body, "\(method) \(held), \(what)")
                    if status == 401 {
                        #expect(
                            replies.allSatisfy { $0["WWW-Authenticate"]?.hasPrefix("Bearer realm=\"Larder\"") == true })
                    }
                }
                for scope in Scope.allCases {
                    // The token lacks one scope. The request names the missing entry, because a call that does not need
                    // this scope succeeds, and could remove the stored entry.
                    let reply = try await ask(method, none, tokens.fields("no-\(scope)", for: none))
                    guard reply.status == 403, let challenge = reply["WWW-Authenticate"] else { continue }
                    #expect(challenge.contains("scope=\"\(scope)\""))
                    #expect(method == "HEAD" || reply.text.contains("lacks the scope \(scope)"))
                    refusedScopes += 1
                }
                // A subscription downloads and keeps entries, and its end removes them.
                let isDouble = path.hasPrefix("/subscriptions/") && ["PUT", "DELETE"].contains(method)
                #expect(refusedScopes == (isDouble ? 2 : 1), "\(method) \(held)")
            }
            // A path without a route gets 404 only with a valid token.
            #expect(try await client.request("GET", "/nowhere").status == 401)
            #expect(try await client.request("GET", "/nowhere", fields: tokens.fields("me", for: "/")).status == 404)
            #expect(try await client.request("POST", "/stats").status == 401)
        }
    }

    @Test("A call with a token that lacks the needed scope contacts no origin and changes no entry")
    func withoutEffect() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "reader", scopes: [.read]), .init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let client = server.client
            let put = try await client.request(
                "PUT", "/entries/a/content", fields: tokens.fields("me", for: "/entries"), text: "one")
            #expect(put.status == 200)
            for (method, target, body) in [
                ("POST", "/download", #"{"url": "\#(origin.url("/a"))"}"#), ("GET", "/fetch/\(origin.url("/b"))", ""),
                ("POST", "/fetch/\(origin.url("/c"))", "x"), ("PUT", "/entries/a/content", "two"),
                ("PATCH", "/entries/a", #"{"ttl": 0}"#), ("DELETE", "/entries/a", ""),
                ("DELETE", "/entries?all=true", ""),
            ] {
                var fields = tokens.fields("reader", for: target)
                fields[.contentType] = "application/json"
                #expect(try await client.request(method, target, fields: fields, text: body).status == 403)
            }
            #expect(origin.requestCount == 0)
            let read = try await client.request(
                "GET", "/entries/a/content", fields: tokens.fields("reader", for: "/entries"))
            #expect(read.text == "one")
        }
    }

    @Test("Larder sends a caller's own Authorization to the origin, and never sends a token of Larder to the origin")
    func notForwarded() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let names = request.fields.map(\.name.canonicalName).filter { $0.contains("authorization") }
            try connection.respond(body: names.joined(separator: ",") + (request["Authorization"] ?? ""))
        }
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let target = "/fetch/\(origin.url("/a"))"
            var fields = tokens.fields("me", for: target)
            fields[.authorization] = "Basic origin"
            let reply = try await server.client.request("GET", target, fields: fields)
            #expect(reply.text == "authorizationBasic origin")
            // A token in Authorization authorizes the caller, alone or beside Larder-Authorization. Larder does not
            // send such an Authorization to the origin.
            fields = tokens.fields("me", for: "/entries")
            #expect(try await server.client.request("GET", target, fields: fields).text == "")
            for field in tokens.fields("me", for: target) { fields.append(field) }
            #expect(try await server.client.request("GET", target, fields: fields).text == "")
            fields = tokens.fields("me", for: target)
            fields[HTTPField.Name("X-Token")!] = tokens.secret("me")
            let leak = try await server.client.request("GET", target, fields: fields)
            #expect(leak.status == 400 && leak.text.contains("Larder-Authorization"))
            let secret = try #require(tokens.fields("me", for: "/entries")[.authorization])
            let json: JSON = ["url": .string(origin.url("/a")), "headers": ["X-Api-Key": .string(secret)]]
            var post = tokens.fields("me", for: "/download")
            post[.contentType] = "application/json"
            let download = try await server.client.request("POST", "/download", fields: post, body: json.utf8)
            #expect(download.status == 400 && download.text.contains("/headers/X-Api-Key"))
            #expect(origin.requestCount == 3)
            fields = tokens.fields("me", for: "/fetch")
            #expect(try await server.client.request("GET", "/entries", fields: fields).status == 401)
            fields = tokens.fields("me", for: "/entries")
            fields.append(HTTPField(name: .authorization, value: "Bearer x"))
            #expect(try await server.client.request("GET", "/entries", fields: fields).status == 401)
        }
    }

    @Test("A ready answer reaches only callers with a sufficient token", arguments: ["/entries/a/content", "/fetch"])
    func atHand(target: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "one")
        }
        defer { origin.stop() }
        let target = target == "/fetch" ? "/fetch/\(origin.url("/a"))" : target
        let tokens = try TestTokens([
            .init(name: "me"), .init(name: "you"), .init(name: "other", namespaces: ["other"]),
            .init(name: "purger", scopes: [.purge]),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let put = tokens.fields("me", for: "/entries")
            #expect(
                try await server.client.request("PUT", "/entries/a/content", fields: put, text: "one").status == 200)
            let hits = { server.space.cache.hitsAtHand }
            for _ in 0..<20 where hits() == 0 {
                let reply = try await server.client.request("GET", target, fields: tokens.fields("me", for: target))
                #expect(reply.text == "one")
            }
            #expect(hits() > 0)
            for (name, status) in [("you", 200), ("other", 403), ("purger", 403), ("me", 200)] {
                let before = hits()
                let fields = tokens.fields(name, for: target, in: "default")
                let reply = try await server.client.request(
                    "GET", TestTokens.target(target, in: "default"), fields: fields)
                #expect(reply.status == status, "\(name)")
                #expect(hits() - before == (status == 200 ? 1 : 0), "\(name)")
            }
            let before = hits()
            #expect(try await server.client.request("GET", target).status == 401)
            let wrong = TestTokens.fields("Bearer larder_me_x", for: target)
            #expect(try await server.client.request("GET", target, fields: wrong).status == 401)
            var twice = tokens.fields("me", for: target)
            for field in tokens.fields("you", for: target) { twice.append(field) }
            #expect(try await server.client.request("GET", target, fields: twice).status == 401)
            #expect(hits() == before)
        }
    }

    @Test("A download that pins or unpins its entry needs a token with the scope write, also in a batch")
    func pinning() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let tokens = try TestTokens([.init(name: "me"), .init(name: "loader", scopes: [.download])])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            func post(_ name: String, _ target: String, _ text: String) async throws -> HTTPReply {
                var fields = tokens.fields(name, for: target)
                fields[.contentType] = "application/json"
                return try await server.client.request("POST", target, fields: fields, text: text)
            }
            for pinned in ["true", "false"] {
                let call = #"{"url": "\#(origin.url("/a"))", "pinned": \#(pinned)}"#
                let refused = try await post("loader", "/download", call)
                #expect(refused.status == 403)
                #expect(refused.text.contains("the scope write"))
                #expect(try await post("loader", "/downloads", "[\(call)]").text.contains(#""status":403"#))
                #expect(origin.requestCount == 0)
            }
            #expect(
                try await post("me", "/download", #"{"url": "\#(origin.url("/a"))", "pinned": true}"#).status == 200)
            #expect(try await post("loader", "/download", #"{"url": "\#(origin.url("/a"))"}"#).status == 200)
        }
    }

    @Test("The admin port answers probes and metrics without a token, and answers all other calls with 404")
    func adminPort() async throws {
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store, configure: { $0.adminPort = 0 }) { (server) async throws in
            let client = HTTPClient(port: try #require(server.api.adminPort))
            for path in ["/livez", "/readyz", "/metrics"] {
                #expect(try await client.request("GET", path).status == 200)
            }
            #expect(try await client.request("GET", "/metrics").text.contains("larder_hits_total"))
            for path in ["/stats", "/entries", "/openapi.yaml", "/fetch/http://127.0.0.1/"] {
                #expect(try await client.request("GET", path).status == 404, "\(path)")
            }
            #expect(try await server.client.request("GET", "/metrics").status == 401)
            // The admin port refuses requests of web pages, as the main port does.
            let host = HTTPField.Name("Host")!
            #expect(try await client.request("GET", "/metrics", fields: [host: "evil.example"]).status == 421)
            let page = try await client.request("GET", "/metrics", fields: [HTTPField.Name("Origin")!: "null"])
            #expect(page.status == 403)
        }
    }
}
