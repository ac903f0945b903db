import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Paths with a namespace: /@NAME/…")
struct NamespacePrefixTests {
    private static let namespace = HTTPField.Name("Larder-Namespace")!

    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "origin \(request.target)")
        }
    }

    @Test("Every call with a path prefix /@NAME uses this namespace, whether disk, memory or a ready answer serves it")
    func calls() async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            let space = try #require(server.service.namespaces.find("ci"))
            let json: HTTPFields = [.contentType: "application/json"]
            let put = try await server.client.request("PUT", "/@ci/entries/k/content", text: "in ci")
            #expect(put.status < 300)
            let page = "/json?url=http%3A%2F%2Fa.example%2F"
            #expect(try await server.client.request("PUT", "/@ci" + page, fields: json, text: "[1]").status < 300)
            let download = try await server.client.request(
                "POST", "/@ci/download", fields: json, text: #"{"url": "\#(origin.url("/d"))"}"#)
            #expect(try download.member("outcome") == "downloaded")
            for target in ["/entries/k/content", page, "/fetch/" + origin.url("/f"), "/fetch?url=" + origin.url("/f")] {
                var before = 0
                for _ in 0..<5 {
                    before = space.cache.hitsAtHand
                    let reply = try await server.get("/@ci" + target)
                    #expect(reply.status == 200, "\(target)")
                    await settle(space)
                }
                #expect(space.cache.hitsAtHand == before + 1, "\(target)")
            }
            #expect(origin.requestCount == 2)
            #expect(try await server.get("/entries/k/content").status == 404)
            #expect(try await server.get(page).status == 404)
            #expect(try await server.get("/entries").member("entries")?.arrayValue?.count == 0)
            #expect(try await server.get("/@ci/entries").member("entries")?.arrayValue?.count == 4)
            #expect(try await server.get("/@default/entries").member("entries")?.arrayValue?.count == 0)
            #expect(try await server.client.request("DELETE", "/entries?all=true").member("removed") == 0)
            #expect(try await server.client.request("DELETE", "/@ci/entries/k").member("removed") == 1)
            #expect(try await server.get("/@ci/entries/k/content").status == 404)
            #expect(server.space.cache.hitsAtHand == 0)
        }
    }

    private func settle(_ space: Namespace) async {
        while space.gateway.fetchCount > 0 { await Task.yield() }
        try? await space.cache.flush()
    }

    @Test(
        "Larder percent-decodes the namespace in a path once, and answers 404 for an unknown namespace",
        arguments: [
            ("/@ci/entries/k/content", 200), ("/%40ci/entries/k/content", 200), ("/@%63i/entries/k/content", 200),
            ("/%40%63%69/entries/k/content", 200), ("/@ci/entries/%6B/content", 200), ("/@none/entries", 404),
            ("/@CI/entries", 404), ("/@ci%2Fentries/k/content", 404), ("/@%2563i/entries", 404), ("/@ci", 404),
            ("/@ci?x", 404), ("/@/entries", 404), ("/@ci//entries", 404), ("/@ci/@ci/entries", 404),
            ("//@ci/entries", 404), ("/@%zz/entries", 400), ("/@%ff/entries", 400),
            ("/@ci/nowhere", 404), ("/@none/nowhere", 404), ("/@../entries", 404), ("/@ci/../entries", 404),
        ])
    func spelling(target: String, status: Int) async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            #expect(try await server.client.request("PUT", "/@ci/entries/k/content", text: "x").status < 300)
            for _ in 0..<4 {
                let reply = try await HTTPClient(port: server.api.port).request("GET", target)
                #expect(reply.status == status)
            }
        }
    }

    @Test("A request gets 400 if its path and its Larder-Namespace differ, even if an answer is ready")
    func disagreement() async throws {
        try await TestServer.with { (server) async throws in
            for name in ["a", "b"] {
                try await server.putNamespace(name)
                _ = try await server.client.request("PUT", "/@\(name)/entries/k/content", text: name)
                for _ in 0..<4 { #expect(try await server.get("/@\(name)/entries/k/content").text == name) }
            }
            for name in ["b", "default", "none", ""] {
                let reply = try await server.get("/@a/entries/k/content", fields: [Self.namespace: name])
                #expect(reply.status == 400)
                #expect(try reply.member("pointer") == "/Larder-Namespace")
            }
            #expect(try await server.get("/@a/entries/k/content", fields: [Self.namespace: "a"]).text == "a")
            #expect(try await server.get("/entries/k/content", fields: [Self.namespace: "b"]).text == "b")
            #expect(try await server.get("/@a/events?namespace=b").status == 400)
        }
    }

    @Test("The field Larder-Namespace on /fetch gets 400 with the path to use, and Larder contacts no origin")
    func fetchField() async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            let target = "/fetch/" + origin.url("/f")
            for _ in 0..<4 { #expect(try await server.get("/@ci" + target).status == 200) }
            for _ in 0..<4 { #expect(try await server.get(target).status == 200) }
            for (method, target, name) in [
                ("GET", target, "ci"), ("GET", "/@ci" + target, "ci"), ("HEAD", target, "ci"), ("POST", target, "ci"),
                ("PROPFIND", target, "none"), ("GET", "/fetch?url=" + origin.url("/f"), "ci"),
                ("GET", target, "default"),
            ] {
                let reply = try await HTTPClient(port: server.api.port).request(
                    method, target, fields: [Self.namespace: name])
                #expect(reply.status == 400, "\(method) \(target)")
                if method != "HEAD" {
                    #expect(reply.text.contains("/@\(name)/fetch/…"))
                    #expect(try reply.member("pointer") == "/Larder-Namespace")
                }
            }
            #expect(origin.requestCount == 2)
        }
    }

    @Test(
        "In an answer of /fetch, the origin's Vary line stays unchanged, and Larder adds its Vary as a separate line",
        arguments: ["*", "accept ,  Foo", "Accept", nil])
    func vary(vary: String?) async throws {
        let origin = try ScriptedOrigin { _, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
            fields[.vary] = vary
            try connection.respond(fields: fields, body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            for prefix in ["", "/@ci"] {
                for fields: HTTPFields in [[:], [:], [:], [:], [.ifNoneMatch: "\"1\""]] {
                    let reply = try await server.get("\(prefix)/fetch/" + origin.url("/f"), fields: fields)
                    #expect(reply.fields[values: .vary] == [vary, "Sec-Fetch-Dest, Service-Worker"].compactMap(\.self))
                    try await server.waitForFetches()
                }
            }
        }
    }

    @Test("The Location of a 202 has the namespace prefix of the request's path")
    func location() async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            for (prefix, written) in [("/@ci", "/@ci"), ("/%40c%69", "/@ci"), ("", "")] {
                let reply = try await server.client.request(
                    "POST", prefix + "/download",
                    fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async"],
                    text: #"{"url": "\#(origin.url("/d"))", "refresh": true}"#)
                #expect(reply.status == 202)
                let location = try #require(reply[.location])
                #expect(location.hasPrefix(written + "/downloads/"))
                #expect(try await server.get(location).status == 200)
            }
        }
    }

    @Test("A token works only in its namespaces, with or without /@NAME in the path, and never reaches the origin")
    func tokens() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "public, max-age=60"],
                body: "\(request["Authorization"] ?? "none") \(request["Larder-Authorization"] ?? "none")")
        }
        defer { origin.stop() }
        let tokens = try TestTokens([
            .init(name: "a", namespaces: ["a"]), .init(name: "ab", namespaces: ["a", "b"]),
            .init(name: "all", namespaces: nil),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            func get(_ token: String, _ prefix: String, _ target: String) async throws -> HTTPReply {
                try await server.get(prefix + target, fields: tokens.fields(token, for: target))
            }
            for name in ["a", "b"] {
                var fields = tokens.fields("all", for: "/namespaces")
                fields[.contentType] = "application/json"
                let made = try await server.client.request("PUT", "/namespaces/\(name)", fields: fields, text: "{}")
                #expect(made.status == 200)
                let put = try await server.client.request(
                    "PUT", "/@\(name)/entries/k/content", fields: tokens.fields("all", for: "/entries"), text: name)
                #expect(put.status < 300)
            }
            for _ in 0..<4 {
                for target in ["/entries/k/content", "/fetch/" + origin.url("/f")] {
                    let isFetch = target.hasPrefix("/fetch")
                    let (inA, inB) = isFetch ? ("none none", "none none") : ("a", "b")
                    #expect(try await get("a", "/@a", target).text == inA)
                    #expect(try await get("a", "", target).text == inA)
                    #expect(try await get("ab", "/@b", target).text == inB)
                    #expect(try await get("all", "/@b", target).text == inB)
                    // A caller with a token for another namespace does not learn whether the namespace exists.
                    for name in ["b", "default", "none"] {
                        #expect(try await get("a", "/@" + name, target).status == 403)
                    }
                    #expect(try await get("all", "/@none", target).status == 404)
                    // Authorization of /fetch is for the origin, also with the prefix.
                    let other: HTTPField.Name = isFetch ? .authorization : .init("Larder-Authorization")!
                    #expect(try await server.get("/@a" + target, fields: [other: "Basic eDp5"]).status == 401)
                }
            }
            #expect(try await get("a", "/@a", "/stats").status == 403)
            // A caller learns neither the contents nor the existence of another namespace.
            for prefix in ["/@default", "/@none"] {
                for path in ["/stats", "/namespaces/a"] {
                    #expect(try await get("a", prefix, path).status == 403, "\(prefix)\(path)")
                }
                #expect(try await server.get(prefix + "/stats").status == 401)
            }
            #expect(try await server.get("/@none/livez").status == 200)
        }
    }

    @Test("A prefix /@NAME of an existing namespace has no effect on calls about the server or on /namespaces/{name}")
    func server() async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("ci")
            for (target, status) in [
                ("/@ci/livez", 200), ("/@none/livez", 200), ("/@ci/stats", 200), ("/@none/stats", 404),
                ("/@ci/namespaces", 200), ("/@default/namespaces/ci", 200), ("/@ci/namespaces/none", 404),
                ("/@ci/", 200), ("/@none/namespaces", 404), ("/@none/namespaces/ci", 404), ("/@none/metrics", 404),
                ("/@none/events", 404), ("/@none/namespaces/none", 404), ("/@CI/stats", 404),
            ] {
                #expect(try await server.get(target).status == status, "\(target)")
            }
            for (method, path, text) in [
                ("PUT", "/namespaces/zz", "{}"), ("PUT", "/namespaces/none", "{}"), ("POST", "/memory/trim", nil),
                ("DELETE", "/namespaces/ci", nil),
            ] {
                let fields: HTTPFields = text == nil ? [:] : [.contentType: "application/json"]
                let reply = try await server.client.request(
                    method, "/@none" + path, fields: fields, body: text.map { Array($0.utf8) } ?? [])
                #expect(reply.status == 404, "\(method) \(path)")
            }
            #expect(server.service.namespaces.find("zz") == nil && server.service.namespaces.find("ci") != nil)
            let json: HTTPFields = [.contentType: "application/json"]
            #expect(try await server.client.request("POST", "/@ci/memory/trim").status == 200)
            #expect(
                try await server.client.request("PUT", "/@ci/namespaces/zz", fields: json, text: "{}").status == 200)
            #expect(server.service.namespaces.find("zz") != nil)
            // A client may send Larder-Namespace with every call, also with the call that creates the namespace.
            let named: HTTPFields = [.contentType: "application/json", Self.namespace: "none"]
            #expect(
                try await server.client.request("PUT", "/namespaces/none", fields: named, text: "{}").status == 200)
            let refused = try await server.client.request("POST", "/@ci/entries/k", text: "x")
            #expect(refused.status == 405)
            #expect(refused.text.contains("/@ci/entries/k accepts"))
        }
    }
}
