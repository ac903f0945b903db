import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import DiskCache
@testable import Larder

/// RFC 9111 §4.2.2: a cache in front of the server guesses the freshness of an answer without explicit freshness.
@Suite("Cache-Control of the API's answers")
struct ContentCachingTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let lastModified = "Mon, 01 Jan 2024 00:00:00 GMT"

    /// Runs `body` with a server that holds the entry of a download, and with the two paths of the entry's body.
    private func withEntry(
        ttl: JSON = 100, _ body: (TestServer, _ paths: [String]) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.lastModified: Self.lastModified, .contentType: "application/json"], body: #"["v1"]"#)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/f")
            _ = try await server.download(["url": .string(url), "ttl": ttl])
            try await body(server, ["/entries/\(md5(url))/content", "/json?url=\(url.percentEncoded)"])
        }
    }

    @Test(
        "Every answer of /content says no-cache: whole, part, 304, HEAD or stale; from the disk, from memory or ready")
    func revalidated() async throws {
        try await withEntry { (server, paths) async throws in
            for path in paths {
                // The reads come from the disk, from memory, and from the ready answers.
                for _ in 0..<4 { #expect(try await server.get(path)["Cache-Control"] == "no-cache") }
                let head = try await server.client.request("HEAD", path)
                #expect(head.status == 200 && head["Cache-Control"] == "no-cache")
                let part = try await server.get(path, fields: [.range: "bytes=0-1"])
                #expect(part.status == 206 && part["Cache-Control"] == "no-cache")
                let same = try await server.get(path, fields: [.ifNoneMatch: "*"])
                #expect(same.status == 304 && same["Cache-Control"] == "no-cache")
            }
            server.clock.advance(by: .seconds(101))
            for path in paths {
                let separator = path.contains("?") ? "&" : "?"
                for _ in 0..<3 {
                    let stale = try await server.get(path + separator + "stale=true")
                    #expect(stale.status == 200 && stale["Cache-Control"] == "no-cache")
                }
                let expired = try await server.get(path)
                #expect(expired.status == 404 && expired["Cache-Control"] == "no-store")
            }
        }
    }

    @Test("With contentCaching untilExpiry, max-age is the time until the entry's expiry date, also in ready answers")
    func untilExpiry() async throws {
        try await withEntry { (server, paths) async throws in
            for path in paths { _ = try await server.get(path) }
            let reply = try await server.putNamespace("default", ["contentCaching": "untilExpiry"])
            #expect(try reply.member("contentCaching") == "untilExpiry")
            for (passed, left) in [(0, 100), (1, 99), (49, 50), (49, 1)] {
                server.clock.advance(by: .seconds(passed))
                for path in paths {
                    for _ in 0..<4 { #expect(try await server.get(path)["Cache-Control"] == "max-age=\(left)") }
                    let same = try await server.get(path, fields: [.ifNoneMatch: "*"])
                    #expect(same.status == 304 && same["Cache-Control"] == "max-age=\(left)")
                    let part = try await server.get(path, fields: [.range: "bytes=0-1"])
                    #expect(part["Cache-Control"] == "max-age=\(left)")
                    let head = try await server.client.request("HEAD", path)
                    #expect(head["Cache-Control"] == "max-age=\(left)")
                }
            }
            // max-age rounds a remaining part of a second down.
            server.clock.advance(by: .milliseconds(1))
            #expect(try await server.get(paths[0])["Cache-Control"] == "max-age=0")
            server.clock.advance(by: .milliseconds(999))
            for path in paths {
                for _ in 0..<2 { #expect(try await server.get(path).status == 404) }
                let stale = try await server.get(path + (path.contains("?") ? "&" : "?") + "stale=true")
                #expect(stale["Cache-Control"] == "no-cache")
            }
        }
    }

    @Test("A change of contentCaching applies as soon as the change is acknowledged, also to ready answers")
    func changed() async throws {
        try await withEntry { (server, paths) async throws in
            for (choice, expected) in [("untilExpiry", "max-age=100"), ("revalidate", "no-cache")] {
                #expect(try await server.putNamespace("default", ["contentCaching": .string(choice)]).status == 200)
                for path in paths {
                    for _ in 0..<4 { #expect(try await server.get(path)["Cache-Control"] == expected) }
                }
            }
            _ = try await server.putNamespace("default", ["contentCaching": "untilExpiry"])
            let back = try await server.putNamespace("default", ["contentCaching": .null])
            #expect(try back.member("contentCaching") == "revalidate")
            #expect(try await server.get(paths[0])["Cache-Control"] == "no-cache")
            // A changed ttl applies immediately.
            _ = try await server.putNamespace("default", ["contentCaching": "untilExpiry"])
            let key = String(paths[0].split(separator: "/")[1])
            _ = try await server.client.request("PATCH", "/entries/\(key)", fields: Self.json, text: #"{"ttl": 7}"#)
            for _ in 0..<3 { #expect(try await server.get(paths[0])["Cache-Control"] == "max-age=7") }
        }
    }

    @Test("The max-age of an entry that stays fresh for a century is 2^31 seconds, the most that caches accept")
    func longest() async throws {
        try await withEntry(ttl: 3_155_760_000) { (server, paths) async throws in
            _ = try await server.putNamespace("default", ["contentCaching": "untilExpiry"])
            #expect(try await server.get(paths[0])["Cache-Control"] == "max-age=2147483648")
        }
    }

    @Test("A body that bypasses the memory tier has the same Cache-Control as other bodies")
    func passing() async throws {
        try await TestServer.with(configure: { $0.memoryLimit = 256 << 10 }) { (server) async throws in
            let body = [UInt8](repeating: 0x61, count: 3000)
            for number in 0..<200 { try await server.put("k\(number)", body, query: "ttl=60") }
            for (choice, expected) in [("revalidate", "no-cache"), ("untilExpiry", "max-age=60")] {
                _ = try await server.putNamespace("default", ["contentCaching": .string(choice)])
                for number in 0..<200 { _ = try await server.get("/entries/k\(number)/content") }
                var passed = 0
                for number in 0..<200 {
                    let reply = try await server.get("/entries/k\(number)/content")
                    #expect(reply["Cache-Control"] == expected)
                    if server.space.cache.parts.memory.peek("k\(number)") == nil { passed += 1 }
                }
                #expect(passed > 0)
            }
        }
    }

    @Test("A namespace's contentCaching survives a restart, and does not affect other namespaces")
    func kept() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("a", ["contentCaching": "untilExpiry"]).status == 200)
            let wrong = try await server.putNamespace("b", ["contentCaching": "forever"])
            #expect(wrong.status == 400)
            #expect(try wrong.member("detail") == "contentCaching must be revalidate or untilExpiry")
        }
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            for (name, expected) in [("a", "max-age=60"), ("default", "no-cache")] {
                let space = server.inNamespace(name)
                #expect(try await space.request("PUT", "/entries/k/content?ttl=60", text: "x").status == 200)
                #expect(try await space.get("/entries/k/content")["Cache-Control"] == expected)
            }
        }
    }

    @Test("Every answer of the API that is not the body of an entry says no-store, also an error")
    func ownAnswers() async throws {
        try await withEntry { (server, paths) async throws in
            let key = String(paths[0].split(separator: "/")[1])
            for path in [
                "/entries", "/entries/\(key)", "/entries/none", "/entries/none/content", "/downloads",
                "/downloads/\(key)", "/explain?url=http://a.example", "/json?url=x", "/namespaces",
                "/namespaces/default",
                "/stats", "/metrics", "/livez", "/readyz", "/nowhere", "/entries?state=old", "/openapi.yaml",
                "/fetch/x",
            ] {
                #expect(try await server.get(path)["Cache-Control"] == "no-store", "\(path)")
            }
            #expect(try await server.put("k", [1])["Cache-Control"] == "no-store")
            let batch = try await server.client.request("POST", "/downloads", fields: Self.json, text: "[]")
            #expect(batch["Cache-Control"] == "no-store")
        }
    }
}
