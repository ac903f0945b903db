import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The isolation of namespaces")
struct NamespaceTests {
    @Test(
        "In each namespace, the same key, URL or JSON is a separate entry, for every call"
    )
    func isolation() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=1000"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a")
            try await server.putNamespace("b")
            let spaces = ["default", "a", "b"].map(server.inNamespace)
            let url = origin.url("/x")
            let json = "/json?url=\(origin.url("/json").percentEncoded)"
            for space in spaces {
                #expect(try await space.request("PUT", "/entries/k/content?tags=t", text: space.name).status == 200)
                #expect(
                    try await space.request(
                        "PUT", json, fields: [.contentType: "application/json"], text: "[\"\(space.name)\"]"
                    ).status == 200)
                let download = try await space.request(
                    "POST", "/download", text: #"{"url": "\#(url)", "ttl": 1000, "tags": ["t"]}"#)
                #expect(try download.member("outcome") == "downloaded")
                #expect(try download.member("entry", "namespace") == .string(space.name))
                #expect(try await space.get("/fetch/" + url)["Cache-Status"]?.contains("fwd=uri-miss") == true)
            }
            #expect(origin.requestCount == 6)
            try await poll("twelve stored entries") { server.service.totals.entries == 12 }
            // Each answer comes from the disk or from memory first, and is ready later.
            for _ in 0..<3 {
                for (number, space) in spaces.enumerated() {
                    #expect(try await space.get("/entries/k/content").text == space.name)
                    #expect(try await space.get(json).text == "[\"\(space.name)\"]")
                    #expect(try await space.get("/entries/\(md5(url))/content").text == "\(2 * number)")
                    #expect(try await space.get("/fetch/" + url).text == "\(2 * number + 1)")
                    #expect(try await space.count == 4)
                    #expect(try await space.get("/downloads").member("downloads")?.arrayValue?.count == 1)
                }
            }
            #expect(origin.requestCount == 6)
            #expect(try await spaces[1].request("DELETE", "/entries?tag=t").member("removed") == 2)
            #expect(try await spaces.asyncMap { try await $0.count } == [4, 2, 4])
            #expect(try await spaces[1].get("/entries/k/content").status == 404)
            #expect(try await spaces[0].get("/entries/k/content").text == "default")
            #expect(try await spaces[2].request("DELETE", "/entries?all=true").member("removed") == 4)
            #expect(try await spaces.asyncMap { try await $0.count } == [4, 2, 0])
            #expect(
                try await spaces[0].request(
                    "PATCH", "/entries/k", fields: [.contentType: "application/json"], text: #"{"ttl": 5}"#
                ).status == 200)
            #expect(
                try await spaces[1].request(
                    "PATCH", "/entries/k", fields: [.contentType: "application/json"], text: #"{"ttl": 5}"#
                ).status == 404)
        }
    }

    @Test("A download of one URL runs once in each namespace, and only there it is listed, joined and cancelled")
    func downloads() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            try await server.putNamespace("a")
            let body = #"{"url": "\#(origin.url("/x"))"}"#
            for name in ["default", "a"] {
                let reply = try await server.inNamespace(name).request(
                    "POST", "/download", fields: [HTTPField.Name("Prefer")!: "respond-async"], text: body)
                #expect(reply.status == 202)
            }
            try await poll("both requests") { origin.requestCount == 2 }
            #expect(
                try await server.inNamespace("a").request("DELETE", "/downloads/\(md5(origin.url("/x")))").status == 200
            )
            #expect(try await server.get("/downloads/\(md5(origin.url("/x")))").member("state") == "running")
            // The answer to DELETE comes before the end of the transfer.
            try await poll("the end of the cancelled download") {
                try await server.inNamespace("a").get("/downloads/\(md5(origin.url("/x")))").member("state")
                    == "cancelled"
            }
            gate.open()
            try await server.waitForSuccess(of: origin.url("/x"))
            #expect(try await server.inNamespace("a").count == 0)
        }
    }

    @Test("A token for one namespace works only in that namespace, also for ready answers")
    func tokens() async throws {
        let tokens = try TestTokens([
            .init(name: "me"), .init(name: "a", namespaces: ["a"]), .init(name: "ab", namespaces: ["a", "b"]),
            .init(name: "all", namespaces: nil), .init(name: "purger", scopes: [.purge, .read], namespaces: ["a"]),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            func ask(
                _ token: String, _ method: String, _ target: String, in namespace: String? = nil, _ body: String = ""
            ) async throws -> HTTPReply {
                var fields = tokens.fields(token, for: target)
                if let namespace { fields[HTTPField.Name("Larder-Namespace")!] = namespace }
                if target.hasPrefix("/namespaces") { fields[.contentType] = "application/json" }
                return try await server.client.request(method, target, fields: fields, text: body)
            }
            for name in ["a", "b"] { #expect(try await ask("all", "PUT", "/namespaces/\(name)", "{}").status == 200) }
            let content = "/entries/k/content"
            for name in ["default", "a", "b"] {
                #expect(try await ask("all", "PUT", content, in: name, name).status == 200)
            }
            for _ in 0..<4 {
                #expect(try await ask("me", "GET", content).text == "default")
                #expect(try await ask("a", "GET", content).text == "a")
                #expect(try await ask("a", "GET", content, in: "a").text == "a")
                #expect(try await ask("a", "GET", content, in: "b").status == 403)
                #expect(try await ask("a", "GET", content, in: "default").status == 403)
                // The answer does not reveal whether the namespace exists.
                #expect(try await ask("a", "GET", content, in: "none").status == 403)
                #expect(try await ask("ab", "GET", content).status == 403)
                #expect(try await ask("ab", "GET", content, in: "b").text == "b")
                #expect(try await ask("all", "GET", content).text == "default")
                #expect(try await ask("all", "GET", content, in: "b").text == "b")
                #expect(try await ask("all", "GET", content, in: "none").status == 404)
            }
            #expect(server.space.cache.hitsAtHand > 0)
            #expect(try #require(server.service.namespaces.find("a")).cache.hitsAtHand > 0)

            #expect(try await ask("a", "GET", "/namespaces").status == 403)
            #expect(try await ask("me", "GET", "/namespaces").member("namespaces")?.arrayValue?.count == 3)
            #expect(try await ask("a", "GET", "/namespaces/b").status == 403)
            #expect(try await ask("a", "PUT", "/namespaces/none", "{}").status == 403)
            #expect(try await ask("a", "DELETE", "/namespaces/b").status == 403)
            // The scope purge does not permit changes of a namespace.
            #expect(try await ask("purger", "PUT", "/namespaces/a", #"{"diskLimit": 1}"#).status == 403)
            #expect(try await ask("purger", "DELETE", "/namespaces/a").status == 403)
            #expect(try await ask("purger", "GET", content).text == "a")
            #expect(try await ask("purger", "PUT", "/namespaces/a", #"{"version": 2}"#).member("version") == "2")
            #expect(try await ask("purger", "GET", content).status == 404)
            // With the scope admin for a namespace, a caller cannot change the namespace's quota or origins.
            let own = try await ask("a", "PUT", "/namespaces/a", #"{"defaultTTL": 5}"#)
            #expect(try own.member("defaultTTL") == 5)
            for body in [#"{"origins": []}"#, #"{"diskLimit": "1MiB"}"#, #"{"memoryLimit": 1}"#] {
                let reply = try await ask("a", "PUT", "/namespaces/a", body)
                #expect(reply.status == 403, "\(body)")
                #expect(reply.text.contains("the default namespace"))
            }
            #expect(try await ask("a", "DELETE", "/namespaces/a").status == 403)
            #expect(try await ask("all", "PUT", "/namespaces/a", #"{"origins": []}"#).status == 200)
            #expect(try await ask("a", "PUT", "/namespaces/a", #"{"origins": null}"#).status == 403)
            #expect(try await ask("all", "DELETE", "/namespaces/a").status == 200)
            #expect(try await ask("purger", "PUT", "/namespaces/a", #"{"version": 3}"#).status == 403)
        }
    }

    @Test(
        "The answers' Vary tells caches that another namespace or token may get another answer",
        arguments: [false, true])
    func vary(hasTokens: Bool) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60", .vary: "Accept"], body: "{}")
        }
        defer { origin.stop() }
        let tokens = try TestTokens([TestTokens.Plan(name: "me")])
        try await TestServer.with(tokens: hasTokens ? tokens.store : nil) { (server) async throws in
            func get(_ target: String) async throws -> HTTPReply {
                try await server.get(target, fields: hasTokens ? tokens.fields("me", for: target) : [:])
            }
            let put = hasTokens ? tokens.fields("me", for: "/entries") : [:]
            try await server.put("k", [1], fields: put)
            for (target, vary) in [
                (
                    "/entries/k/content",
                    "Larder-Namespace" + (hasTokens ? ", Authorization" : "") + ", Sec-Fetch-Dest, Service-Worker"
                ),
                // With tokens, Vary names each request field that may contain a token.
                (
                    "/fetch/" + origin.url("/a"),
                    "Accept" + (hasTokens ? ", Larder-Authorization, Authorization, Proxy-Authorization" : "")
                        + ", Sec-Fetch-Dest, Service-Worker"
                ),
            ] {
                for _ in 0..<5 {
                    let found = try await get(target)[.vary]
                    #expect(found == vary)
                }
                #expect(server.space.cache.hitsAtHand > 0, "\(target)")
            }
            #expect(try await get("/stats")[.vary] == nil)
            // This error also has Vary, because a cache must not use it for a request in another namespace.
            var fields = hasTokens ? tokens.fields("me", for: "/json") : [:]
            fields[HTTPField.Name("Larder-Namespace")!] = "none"
            let missing = try await server.get("/json?url=http://h/", fields: fields)
            #expect(missing.status == (hasTokens ? 403 : 404))
            #expect(
                missing[.vary]
                    == "Larder-Namespace" + (hasTokens ? ", Authorization" : "") + ", Sec-Fetch-Dest, Service-Worker")
        }
    }

    @Test("Larder does not refresh a stale entry from an origin that its namespace may no longer contact")
    func narrowedRefresh() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=10, stale-while-revalidate=1000", .eTag: "\"1\""], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a")
            let space = server.inNamespace("a")
            let json = #"{"url": "\#(origin.url("/d"))", "ttl": 10, "staleWhileRevalidate": 1000}"#
            for target in ["/fetch/" + origin.url("/f"), "/fetch/" + origin.url("/g")] {
                #expect(try await space.get(target).text == "x")
            }
            #expect(try await space.request("POST", "/download", text: json).status == 200)
            try await server.putNamespace("a", ["origins": ["example.com"]])
            server.clock.advance(by: .seconds(20))
            let before = origin.requestCount
            #expect(try await space.get("/fetch/" + origin.url("/f")).text == "x")
            #expect(try await space.request("POST", "/download", text: json).member("outcome") == "stale")
            let refused = try await space.get("/fetch/" + origin.url("/g"), fields: [.cacheControl: "no-cache"])
            #expect(refused.status >= 400)
            try await poll("the end of background work") {
                let namespace = server.service.namespaces.find("a")
                return namespace?.gateway.fetchCount == 0 && namespace?.downloads.runningCount == 0
            }
            #expect(origin.requestCount == before)
        }
    }

    @Test(
        "The permitted origins of a namespace also apply to redirects, and to connections that other namespaces opened")
    func origins() async throws {
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/away" else { return try connection.respond(body: "x") }
            // The redirect leads to the other name of the same origin.
            let host = request.fields[HTTPField.Name("Host")!] ?? ""
            let other = host.hasPrefix("localhost") ? "127.0.0.1" : "localhost"
            try connection.respond(
                302, fields: [.location: "http://\(other):\(host.split(separator: ":").last ?? "")/x"])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("open")
            try await server.putNamespace("named", ["origins": ["localhost"]])
            try await server.putNamespace("ranged", ["origins": ["127.0.0.2/32", "*.example.com"]])
            let byName = "http://localhost:\(origin.port)"
            func download(_ name: String, _ url: String) async throws -> HTTPReply {
                try await server.inNamespace(name).request(
                    "POST", "/download", text: #"{"url": "\#(url)", "refresh": true}"#)
            }
            for _ in 0..<3 {
                #expect(try await download("open", origin.url("/x")).status == 200)
                #expect(try await download("open", byName + "/x").status == 200)
                #expect(try await download("named", byName + "/x").status == 200)
                let refused = try await download("named", origin.url("/x"))
                #expect(refused.status == 403)
                #expect(refused.text.contains("127.0.0.1 is not one of the namespace's origins"))
                // The namespace `ranged` must not use the connections to the origin that the other namespaces opened.
                #expect(try await download("ranged", byName + "/x").status == 403)
                #expect(try await server.inNamespace("ranged").get("/fetch/\(byName)/x").status == 403)
                #expect(try await server.inNamespace("named").get("/fetch/\(byName)/x").text == "x")
                #expect(try await server.inNamespace("named").get("/fetch/" + origin.url("/x")).status == 403)
                #expect(try await download("open", byName + "/away").status == 200)
                #expect(try await download("named", byName + "/away").status == 403)
            }
            try await server.putNamespace("named", ["origins": .null])
            #expect(try await download("named", origin.url("/x")).status == 200)
            try await server.putNamespace("named", ["origins": []])
            #expect(try await download("named", byName + "/x").status == 403)
            let wrong = try await server.putNamespace("named", ["origins": ["ok.example", "http://x/"]])
            #expect(wrong.status == 400)
            #expect(try wrong.member("pointer") == "/origins/1")
        }
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
