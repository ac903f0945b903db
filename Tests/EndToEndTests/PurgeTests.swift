import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Purges during a download")
struct PurgeTests {
    static let ways = ["key", "tag", "prefix", "host", "all"]

    private func purge(_ way: String, _ url: String, on server: TestServer) async throws -> HTTPReply {
        let path =
            switch way {
            case "key": "/entries/\(md5(url))"
            case "tag": "/entries?tag=t"
            case "prefix": "/entries?prefix=\(url.percentEncoded)"
            case "host": "/entries?host=127.0.0.1"
            default: "/entries?all=true"
            }
        return try await server.client.request("DELETE", path)
    }

    @Test(
        "After a purge during a first download, the waiters get their answer, and no entry is stored", arguments: ways)
    func firstDownload(way: String) async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let url = origin.url("/a")
            async let reply = server.download(["url": .string(url), "ttl": 60, "tags": ["t"]])
            try await origin.waitForRequests(1)
            #expect(try await purge(way, url, on: server).status == (way == "key" ? 404 : 200))
            gate.open()
            #expect(try await reply.status == 200)
            #expect(try await server.get("/entries/\(md5(url))").status == 404)
            #expect(try await server.get("/entries").member("entries") == [])
        }
    }

    @Test(
        "A PUT that gets 200 has stored its body, even if a purge ran while the body arrived",
        arguments: ["key", "all"])
    func upload(way: String) async throws {
        try await TestServer.with { server in
            let upload = try RawConnection(port: server.api.port)
            defer { upload.close() }
            try upload.send("PUT /entries/k/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n")
            try upload.send("Expect: 100-continue\r\n\r\n")
            // The 100 shows that the server has read the head of the upload.
            let isWanted = try await blocking { try upload.readHead().status }
            #expect(isWanted == 100)
            let path = way == "key" ? "/entries/k" : "/entries?all=true"
            #expect(try await server.client.request("DELETE", path).status == (way == "key" ? 404 : 200))
            try upload.send("new")
            let status = try await blocking { try upload.readReply(to: "PUT").status }
            #expect(status == 200)
            #expect(try await server.get("/entries/k/content").text == "new")
        }
    }

    @Test(
        "After a purge during a refresh, no entry exists, even if the purge selects the entry by the entry's tag",
        arguments: ways, [200, 304])
    func refresh(way: String, status: Int) async throws {
        let gate = Gate("the origin's second answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            let isConditional = request["If-None-Match"] != nil
            try connection.respond(
                isConditional ? status : 200, fields: [.eTag: "\"1\""],
                body: isConditional && status == 304 ? "" : "body \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 60, "tags": ["t"]])
            async let reply = server.download(["url": .string(url), "ttl": 60, "refresh": true])
            try await origin.waitForRequests(2)
            #expect(try await purge(way, url, on: server).json == ["removed": 1])
            gate.open()
            #expect(try await reply.status == 200)
            #expect(try await server.get("/entries/\(md5(url))").status == 404)
            #expect(try await server.get("/entries?tag=t").member("entries") == [])
        }
    }

    @Test(
        "If the callers after a purge have over 256 tags together, the last caller gets 400, and the others get answers"
    )
    func laterTags() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let url = origin.url("/a")
            @Sendable func call(_ tags: Range<Int>) -> JSON {
                ["url": .string(url), "tags": .array(tags.map { .string("\($0)") })]
            }
            async let early = server.download(call(0..<1))
            try await origin.waitForRequests(1)
            _ = try await purge("key", url, on: server)
            async let late = concurrently(4) { try await server.download(call($0 * 60..<($0 + 1) * 60)) }
            try await poll("four callers after the purge") { server.space.downloads.laterCount(of: md5(url)) == 4 }
            #expect(try await server.download(call(240..<257)).status == 400)
            gate.open()
            #expect(try await early.status == 200)
            for reply in try await late {
                #expect(try reply.member("entry", "tags")?.arrayValue?.count == 240)
            }
        }
    }

    @Test("The callers after a purge share one new request to the origin, and get the answer to it")
    func laterCallers() async throws {
        let first = Gate("the first answer")
        let second = Gate("the second answer")
        let origin = try ScriptedOrigin { request, connection in
            try (request.index == 0 ? first : second).waitBlocking()
            try connection.respond(body: "body \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = origin.url("/a")
            let call: JSON = ["url": .string(url), "ttl": 60]
            async let early = server.download(call)
            try await origin.waitForRequests(1)
            _ = try await purge("key", url, on: server)
            async let late = concurrently(5) { _ in try await server.download(call) }
            try await poll("five callers after the purge") { server.space.downloads.laterCount(of: md5(url)) == 5 }
            // Even after the purge, the origin gets one request per key at a time.
            #expect(origin.requestCount == 1)
            first.open()
            #expect(try await early.status == 200)
            try await origin.waitForRequests(2)
            second.open()
            let outcomes = try await late.map { try $0.member("outcome")?.stringValue ?? "" }
            #expect(outcomes.sorted() == ["downloaded", "joined", "joined", "joined", "joined"])
            #expect(try await server.content(of: url) == "body 1")
            #expect(origin.requestCount == 2)
        }
    }
}
