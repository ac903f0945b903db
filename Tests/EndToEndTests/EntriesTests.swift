import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The calls of /entries")
struct EntriesTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    @Test("GET /entries filters and sorts the entries, and returns them in pages")
    func listing() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: String(repeating: "x", count: request.target.utf8.count * 10))
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for (path, ttl, tag) in [("/a", 10, "red"), ("/ab", 20, "blue"), ("/abc", 30, "red")] {
                _ = try await server.download(
                    ["url": .string(origin.url(path)), "ttl": .number(ttl), "tags": [.string(tag)]])
            }
            try await server.put("note", Array("hi".utf8), query: "tags=red")
            func keys(_ query: String) async throws -> [String] {
                let reply = try await server.get("/entries?\(query)")
                #expect(reply.status == 200, "\(reply.text)")
                return try reply.member("entries")?.arrayValue?.compactMap {
                    $0["url"]?.stringValue?.split(separator: "/").last.map(String.init) ?? $0["key"]?.stringValue
                } ?? []
            }
            #expect(try await keys("tag=red&sort=expiryDate") == ["a", "abc", "note"])
            #expect(try await keys("host=127.0.0.1&sort=-contentLength") == ["abc", "ab", "a"])
            #expect(try await keys("prefix=\(origin.url("/ab").percentEncoded)&sort=url") == ["ab", "abc"])
            #expect(try await keys("prefix=no") == ["note"])
            #expect(try await keys("kind=data") == ["note"])
            #expect(try await keys("url=\(origin.url("/ab").percentEncoded)") == ["ab"])
            server.clock.advance(by: .seconds(15))
            #expect(try await keys("state=stale") == ["a"])
            #expect(try await keys("state=fresh&kind=download&sort=url") == ["ab", "abc"])

            var seen: [String] = []
            var cursor: String?
            repeat {
                let page = try await server.get(
                    "/entries?limit=1" + (cursor.map { "&cursor=\($0.percentEncoded)" } ?? ""))
                seen += try page.member("entries")?.arrayValue?.compactMap { $0["key"]?.stringValue } ?? []
                cursor = try page.member("nextCursor")?.stringValue
            } while cursor != nil
            #expect(seen == seen.sorted() && Set(seen).count == 4)
        }
    }

    @Test("The metadata of a stored entry is complete, and is returned even when the entry is stale")
    func metadata() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.contentType: "text/plain", .eTag: "W/\"7\"", .lastModified: "Sat, 31 Jan 2026 08:05:09 GMT"],
                body: "hello")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/x")
            _ = try await server.download(["url": .string(url), "ttl": 20, "tags": ["b", "a"], "pinned": true])
            server.clock.advance(by: .seconds(30))
            let entry = try await server.get("/entries/\(md5(url))").json
            #expect(entry["key"] == .string(md5(url)))
            #expect(entry["namespace"] == "default")
            #expect(entry["kind"] == "download")
            #expect(entry["url"] == .string(url))
            #expect(entry["state"] == "stale")
            #expect(entry["status"] == 200)
            #expect(entry["contentType"] == "text/plain")
            #expect(entry["contentLength"] == 5)
            #expect(entry["etag"] == "W/\"7\"")
            #expect(entry["lastModified"] == "Sat, 31 Jan 2026 08:05:09 GMT")
            // printf hello | sha256sum | xxd -r -p | base64
            #expect(entry["digest"] == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
            #expect(entry["tags"] == ["a", "b"])
            #expect(entry["pinned"] == true)
            let head = try await server.client.request("HEAD", "/entries/\(md5(url))")
            #expect(head.status == 200 && head.body.isEmpty)
        }
    }

    @Test("An entry that a caller stored has no status, no dates of a download and no validators")
    func withoutOrigin() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let data = try await server.put("note", Array("hi".utf8)).json
            let json = try await server.client.request(
                "PUT", "/json?url=http://h.example/", fields: Self.json, text: "[1]"
            ).json
            for entry in [data, json] {
                for name in ["status", "downloadStartDate", "downloadEndDate", "etag", "lastModified"] {
                    #expect(entry[name] == .null, "\(name)")
                }
            }
            let downloaded = try await server.download(["url": .string(origin.url("/a"))]).member("entry")
            #expect(downloaded?["downloadStartDate"]?.date == server.clock.now())
            #expect(downloaded?["downloadEndDate"]?.date == server.clock.now())
        }
    }

    @Test(
        "A PATCH sets the expiry date to now + ttl; a ttl of 0 makes a download stale, and removes a caller's own data")
    func changes() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let key = md5(origin.url("/a"))
            _ = try await server.download(["url": .string(origin.url("/a")), "ttl": 20])
            server.clock.advance(by: .seconds(15))
            let changed = try await server.client.request(
                "PATCH", "/entries/\(key)", fields: Self.json, text: #"{"ttl": 100, "tags": ["t"], "pinned": true}"#)
            #expect(try changed.member("expiryDate")?.date == server.clock.now() + .seconds(100))
            #expect(try changed.member("tags") == ["t"])
            #expect(try changed.member("pinned") == true)
            let stale = try await server.client.request(
                "PATCH", "/entries/\(key)", fields: Self.json, text: #"{"ttl": 0}"#)
            #expect(try stale.member("state") == "stale")

            try await server.put("note", Array("hi".utf8))
            let removed = try await server.client.request(
                "PATCH", "/entries/note", fields: Self.json, text: #"{"ttl": 0}"#)
            #expect(try removed.json == ["removed": 1])
            #expect(try await server.get("/entries/note").status == 404)
            let missing = try await server.client.request(
                "PATCH", "/entries/note", fields: Self.json, text: #"{"ttl": 5}"#)
            #expect(missing.status == 404)
        }
    }

    @Test("DELETE removes entries by key or by filter; with dryRun it only counts them; without a filter it gets 400")
    func removal() async throws {
        try await TestServer.with { (server) async throws in
            for number in 0..<10 {
                try await server.put("n\(number)", Array("hi".utf8), query: "tags=\(number % 2 == 0 ? "even" : "odd")")
            }
            func delete(_ path: String) async throws -> HTTPReply { try await server.client.request("DELETE", path) }
            #expect(try await delete("/entries/n0").json == ["removed": 1])
            #expect(try await delete("/entries/n0").status == 404)
            #expect(try await delete("/entries?tag=even&dryRun=true").json == ["removed": 4])
            #expect(try await delete("/entries?tag=even").json == ["removed": 4])
            #expect(try await delete("/entries").status == 400)
            #expect(try await delete("/entries?all=true&tag=odd").status == 400)
            #expect(try await delete("/entries?all=false").status == 400)
            #expect(try await delete("/entries?all=true").json == ["removed": 5])
            #expect(try await server.get("/entries").member("entries") == [])
            #expect(try await server.get("/stats").member("entries") == 0)
        }
    }

    @Test("A filter by tag finds every canonically equivalent spelling of the tag's accents")
    func canonicallyEquivalentTags() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("one", Array("hi".utf8), query: "tags=caf%C3%A9")
            try await server.put("two", Array("hi".utf8), query: "tags=cafe%CC%81")
            for tag in ["caf%C3%A9", "cafe%CC%81"] {
                let removed = try await server.client.request("DELETE", "/entries?tag=\(tag)&dryRun=true")
                #expect(try removed.json == ["removed": 2])
            }
        }
    }

    @Test("Larder counts the hits of an entry, and the count survives a restart")
    func hits() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await server.put("note", Array("hi".utf8))
            clock.advance(by: .seconds(5))
            for _ in 0..<3 { _ = try await server.get("/entries/note/content") }
            #expect(try await server.get("/entries/note").member("hits") == 3)
        }
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            let entry = try await server.get("/entries/note").json
            #expect(entry["hits"] == 3)
            #expect(entry["lastAccessDate"]?.date == clock.now())
        }
    }
}
