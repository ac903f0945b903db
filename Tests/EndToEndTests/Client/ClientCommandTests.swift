import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The client commands")
struct ClientCommandTests {
    @Test("The download command prints the outcome and the entry, and the get command prints the downloaded body")
    func download() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.contentType: "text/csv"], body: request["Accept"] ?? "")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let url = origin.url("/a")
            let arguments = [
                "download", "HTTP://127.0.0.1:\(origin.port)/x/../a", "--ttl", "60", "--tag", "t", "--tag", "u",
                "--param", "b=1", "--header", "Accept: text/csv",
            ]
            let first = try await larder.run(arguments)
            #expect(first.exit == .status(0), "\(first.errors)")
            #expect(first.values["outcome"] == "downloaded" && first.values["state"] == "fresh")
            #expect(first.values["url"] == url + "?b=1" && first.values["size"] == "8")
            #expect(first.values["tags"] == "t,u" && first.values["type"] == "text/csv")
            #expect(first.errors.isEmpty)
            let second = try await larder.run(arguments + ["--json"])
            #expect(try second.json["outcome"] == "cached")
            #expect(try second.json["entry"]?["expiresInSeconds"] == 60)
            #expect(origin.requestCount == 1)
            let key = try #require(first.values["key"])
            #expect(try await larder.run(["get", key]).text == "text/csv")
            // The field of `--header` is part of the key, so the URL alone finds no entry.
            #expect(try await larder.run(["get", url + "?b=1"]).exit == .status(4))
        }
    }

    @Test("The get command writes a file completely or not at all, and writes a body to standard output byte for byte")
    func output() async throws {
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/a" else { return try connection.respond(500) }
            try connection.respond(body: content)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let directory = try TemporaryDirectory()
            let path = directory.path("body")
            let saved = try await larder.run(["download", origin.url("/a"), "--ttl", "60", "-o", path])
            #expect(saved.exit == .status(0) && saved.values["outcome"] == "downloaded", "\(saved.errors)")
            #expect(try directory.read("body") == content)
            #expect(try await larder.run(["download", origin.url("/a"), "-o", "-"]).bytes == content)
            #expect(try await larder.run(["get", origin.url("/a")]).bytes == content)
            let failed = try await larder.run(["download", origin.url("/b"), "-o", directory.path("none")])
            #expect(failed.exit == .status(1))
            #expect(failed.errors.contains("500") && failed.text.isEmpty)
            #expect(try await larder.run(["get", "none", "-o", path]).exit == .status(4))
            let folder = try await larder.run(["get", origin.url("/a"), "-o", directory.path("no/such/place")])
            #expect(folder.exit == .status(73))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["body"])
            #expect(try directory.read("body") == content)
            // The command writes to an existing path that is not a regular file, such as a device.
            #expect(try await larder.run(["get", origin.url("/a"), "-o", "/dev/null"]).exit == .status(0))
            server.clock.advance(by: .seconds(60))
            #expect(try await larder.run(["get", origin.url("/a")]).exit == .status(4))
            #expect(try await larder.run(["get", origin.url("/a"), "--stale"]).bytes == content)
        }
    }

    @Test(
        "The put command stores a file or standard input under a key, and JSON under a URL, where a download finds it")
    func put() async throws {
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let directory = try TemporaryDirectory()
            let content = [UInt8](repeating: 7, count: 200_000)
            let path = try directory.write(content, to: "file")
            let stored = try await larder.run(
                ["put", "a b", path, "--content-type", "text/plain", "--tag", "t", "--pinned", "--ttl", "60"])
            #expect(stored.exit == .status(0), "\(stored.errors)")
            #expect(stored.values["kind"] == "data" && stored.values["pinned"] == "yes")
            #expect(try await larder.run(["get", "a b"]).bytes == content)
            #expect(try await larder.run(["get", "a b", "--json"]).json["contentType"] == "text/plain")
            let piped = try await larder.run(["put", "c"], input: Array("hello".utf8))
            #expect(piped.values["size"] == "5", "\(piped.errors)")
            let url = "https://api.example/users?page=1"
            #expect(try await larder.run(["put", url, "-"], input: Array("[1]".utf8)).exit == .status(0))
            #expect(try await larder.run(["download", url, "--json"]).json["outcome"] == "cached")
            #expect(try await larder.run(["get", url]).text == "[1]")
            #expect(try await larder.run(["put", url, "-"], input: Array("{".utf8)).exit == .status(64))
            #expect(try await larder.run(["put", url, "--tag", "t"], input: Array("[1]".utf8)).exit == .status(64))
            #expect(try await larder.run(["put", "d", directory.path("none")]).exit == .status(66))
            #expect(try await larder.run(["put", "d", directory.path]).exit == .status(66))
            #expect(try await larder.run(["put", "c", "--ttl", "0"]).values["removed"] == "1")
        }
    }

    @Test("The ls command lists all pages of entries, and the rm command removes entries and reports a missing entry")
    func listing() async throws {
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            // The entries fill more than one page.
            let client = HTTPClient(port: server.api.port)
            for number in 0..<1234 {
                let tag = number < 4 ? "few" : "many"
                _ = try await client.request("PUT", "/entries/n\(number)/content?tags=\(tag)", text: "x")
            }
            let all = try await larder.run(["ls"])
            let rows = all.text.split(separator: "\n").map { row in
                row.split(separator: "\t", omittingEmptySubsequences: false)
            }
            #expect(rows.count == 1234 && rows.allSatisfy { $0.count == 6 && $0[1] == "data" && $0[4] == "1" })
            #expect(Set(rows.map { $0[0] }).count == 1234)
            #expect(try await larder.run(["ls", "--limit", "1001", "--json"]).jsonLines.count == 1001)
            let few = try await larder.run(["ls", "--tag", "few", "--sort", "-key", "--json"]).jsonLines
            #expect(few.compactMap { $0["key"]?.stringValue } == ["n3", "n2", "n1", "n0"])
            #expect(try await larder.run(["ls", "--sort", "size"]).exit == .status(64))

            #expect(try await larder.run(["rm", "--tag", "few", "--dry-run"]).values["would be removed"] == "4")
            #expect(try await larder.run(["rm", "n0", "n1"]).values["removed"] == "2")
            let again = try await larder.run(["rm", "n1", "n2"])
            #expect(again.exit == .status(4) && again.values["removed"] == "1")
            #expect(again.errors == "n1: no entry\n")
            #expect(try await larder.run(["rm", "--tag", "few", "--json"]).json == ["removed": 1])
            for wrong in [[], ["n5", "--all"], ["--tag", "a", "--all"], ["n5", "--dry-run"]] {
                #expect(try await larder.run(["rm"] + wrong).exit == .status(64), "\(wrong)")
            }
            #expect(try await larder.run(["rm", "--all", "--json"]).json == ["removed": 1230])
            #expect(try await larder.run(["ls"]).text.isEmpty)
        }
    }

    @Test("The explain command tells a hit from a miss by text and exit status; the rm command removes a URL's entries")
    func explain() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.layout = .readable }) { (server) async throws in
            let larder = ClientCommands(server)
            let url = origin.url("/docs/a")
            let none = try await larder.run(["explain", "\(url)#top"])
            #expect(none.exit == .status(4))
            #expect(none.values["url"] == url && none.values["key"] == md5(url) && none.values["hit"] == "no")
            let file = server.directory.path("cache/default/QUrlCaches/http/127.0.0.1_\(origin.port)/docs/a")
            #expect(none.values["file"] == file)
            #expect(try await larder.run(["download", url]).exit == .status(0))
            _ = try await server.get("/fetch/\(url)")
            let held = try await larder.run(["explain", url])
            #expect(held.exit == .status(0) && held.values["hit"] == "yes")
            #expect(held.values["why"]?.hasPrefix("the entry is fresh until ") == true)
            #expect(held.values["/fetch"]?.hasPrefix(md5(url) + ".") == true)
            #expect(try await larder.run(["explain", url, "--json"]).json["reason"] == "fresh")
            #expect(try await larder.run(["rm", url]).values["removed"] == "2")
            #expect(try await larder.run(["rm", url]).exit == .status(4))
        }
    }

    @Test("The stats command prints the server's statistics")
    func stats() async throws {
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            try await server.put("a", [1, 2, 3])
            #expect(try await larder.run(["stats"]).values["entries"] == "1")
            #expect(try await larder.run(["stats", "--json"]).json["entries"] == 1)
        }
    }
}
