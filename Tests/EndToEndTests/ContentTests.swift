import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The bodies of entries: /entries/:key/content")
struct ContentTests {
    @Test("A body has its type, a strong ETag, and the fields that keep browsers from running it")
    func whole() async throws {
        try await TestServer.with { (server) async throws in
            let stored = try await server.put("page", Array("<b>hi</b>".utf8), fields: [.contentType: "text/html"])
            #expect(stored.status == 200)
            let reply = try await server.get("/entries/page/content")
            #expect(reply.text == "<b>hi</b>")
            #expect(reply["Content-Type"] == "text/html")
            #expect(reply["X-Content-Type-Options"] == "nosniff")
            #expect(reply["Content-Security-Policy"] == "sandbox; default-src 'none'")
            #expect(reply["Accept-Ranges"] == "bytes")
            let etag = try #require(reply["ETag"])
            #expect(etag.hasPrefix("\"") && etag.hasSuffix("\""))
            let head = try await server.client.request("HEAD", "/entries/page/content")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head["Content-Length"] == "9")
        }
    }

    @Test(
        "A request with Range or If-Range gets a part, the whole body or 416, as RFC 9110 §14 demands",
        arguments: [10, 5_000_000])
    func ranges(size: Int) async throws {
        let body = (0..<size).map { UInt8($0 % 251) }
        try await TestServer.with { (server) async throws in
            try await server.put("bytes", body)
            func range(_ value: String, _ more: HTTPFields = [:]) async throws -> HTTPReply {
                var fields = more
                fields[.range] = value
                return try await server.get("/entries/bytes/content", fields: fields)
            }
            let first = try await range("bytes=0-3")
            #expect(first.status == 206)
            #expect(first.body == Array(body[0...3]))
            #expect(first["Content-Range"] == "bytes 0-3/\(size)")
            #expect(try await range("bytes=4-").body == Array(body[4...]))
            // RFC 9110 §14.1.2: a suffix range selects the last bytes.
            #expect(try await range("bytes=-2").body == Array(body.suffix(2)))
            #expect(try await range("bytes=5-99999999").body == Array(body[5...]))
            #expect(try await range("bytes=-99999999").body == body)
            let beyond = try await range("bytes=\(size)-")
            #expect(beyond.status == 416)
            #expect(beyond["Content-Range"] == "bytes */\(size)")
            #expect(try await range("bytes=-0").status == 416)
            // RFC 9110 §14.2: the server ignores a Range that is no valid range of bytes.
            for ignored in ["lines=0-3", "bytes=3-1", "bytes=a-b", "bytes="] {
                #expect(try await range(ignored).status == 200, "\(ignored)")
            }
            let etag = try #require(first["ETag"])
            #expect(try await range("bytes=0-3", [.ifRange: etag]).status == 206)
            #expect(try await range("bytes=0-3", [.ifRange: "\"other\""]).status == 200)
        }
    }

    @Test("A PUT of a partial or encoded body is refused, and stores no entry (RFC 9110 §14.5, §8.4)")
    func notTheWhole() async throws {
        try await TestServer.with { (server) async throws in
            let part = try await server.put("k", [1], fields: [.contentRange: "bytes 0-0/2"])
            #expect(part.status == 400)
            let encoded = try await server.put("k", [1], fields: [.contentEncoding: "gzip"])
            #expect(encoded.status == 415)
            #expect(try await server.get("/entries/k").status == 404)
            #expect(try await server.put("k", [1], fields: [.contentEncoding: "identity"]).status == 200)
        }
    }

    @Test("A conditional GET gets 200, 304 or 412, as RFC 9110 §13 demands")
    func conditions() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("note", Array("hi".utf8))
            let etag = try #require(try await server.get("/entries/note/content")["ETag"])
            func get(_ fields: HTTPFields) async throws -> HTTPReply {
                try await server.get("/entries/note/content", fields: fields)
            }
            let notModified = try await get([.ifNoneMatch: "\"x\", W/\(etag)"])
            #expect(notModified.status == 304)
            #expect(notModified["ETag"] == etag)
            #expect(notModified.body.isEmpty)
            // RFC 9110 §8.6: Content-Length is the length of the body that is not sent, not 0.
            let length = try await get([:]).body.count
            #expect(notModified["Content-Length"] == String(length))
            #expect(try await get([.ifNoneMatch: "*"]).status == 304)
            #expect(try await get([.ifNoneMatch: "\"x\""]).status == 200)
            #expect(try await get([.ifMatch: etag]).status == 200)
            #expect(try await get([.ifMatch: "\"x\""]).status == 412)
        }
    }

    @Test("A request for the body of an expired entry gets 404 unless its query contains stale=true")
    func stale() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("note", Array("hi".utf8), query: "ttl=10")
            server.clock.advance(by: .seconds(10))
            let reply = try await server.get("/entries/note/content")
            #expect(reply.status == 404)
            #expect(reply["Content-Type"] == "application/problem+json")
            #expect(try await server.get("/entries/note/content?stale=true").text == "hi")
        }
    }

    @Test(
        "A PUT with If-None-Match: * stores only under a new key; a PUT with If-Match replaces only the matching entry")
    func storePreconditions() async throws {
        try await TestServer.with { (server) async throws in
            let any: HTTPFields = [.ifNoneMatch: "*"]
            #expect(try await server.put("note", Array("1".utf8), fields: any).status == 200)
            #expect(try await server.put("note", Array("2".utf8), fields: any).status == 412)
            let etag = try #require(try await server.get("/entries/note/content")["ETag"])
            #expect(try await server.put("note", Array("3".utf8), fields: [.ifMatch: "\"x\""]).status == 412)
            #expect(try await server.put("note", Array("4".utf8), fields: [.ifMatch: etag]).status == 200)
            #expect(try await server.put("note", Array("5".utf8), fields: [.ifMatch: etag]).status == 412)
            #expect(try await server.put("new", Array("6".utf8), fields: [.ifMatch: "*"]).status == 412)
            #expect(try await server.get("/entries/note/content").text == "4")
            // A PUT with a ttl of 0 removes the entry only if its If-Match holds.
            let other: HTTPFields = [.ifMatch: "\"x\""]
            #expect(try await server.put("note", Array("7".utf8), query: "ttl=0", fields: other).status == 412)
            #expect(try await server.get("/entries/note/content").text == "4")
            let part: HTTPFields = [.contentRange: "bytes 0-0/9"]
            #expect(try await server.put("note", Array("8".utf8), fields: part).status == 400)
        }
    }

    @Test("A PUT with a ttl of 0 removes the present entry and stores none; a PUT of an empty body gets 422")
    func nothingToStore() async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await server.put("note", Array("hi".utf8), query: "ttl=0").json == ["removed": 0])
            try await server.put("note", Array("hi".utf8))
            #expect(try await server.put("note", Array("ho".utf8), query: "ttl=0").json == ["removed": 1])
            #expect(try await server.get("/entries/note").status == 404)
            #expect(try await server.put("note", []).status == 422)
        }
    }

    @Test("An upload that exceeds the entry limit gets 413, with Content-Length or in chunks")
    func tooLarge() async throws {
        try await TestServer.with(configure: { $0.entryLimit = 1000 }) { (server) async throws in
            let large = [UInt8](repeating: 7, count: 1001)
            let reply = try await server.put("note", large)
            #expect(reply.status == 413)
            #expect(try reply.member("limit") == 1000)
            for chunks in [1, 10_000] {
                let chunked = try await server.client.withConnection { connection in
                    try connection.send(
                        "PUT /entries/note/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
                    for _ in 0..<chunks {
                        try connection.send("3E9\r\n")
                        try connection.send(large)
                        try connection.send("\r\n")
                    }
                    try connection.send("0\r\n\r\n")
                    return try connection.readReply()
                }
                #expect(chunked.status == 413)
            }
            #expect(try await server.put("note", Array(large.dropLast())).status == 200)
        }
    }

    @Test(
        "A request for a key never gets the body of another key with the same MD5", arguments: ["hashed", "readable"])
    func collision(layout: String) async throws {
        let keys = [
            "TEXTCOLLBYfGiJUETHQ4hAcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak",
            "TEXTCOLLBYfGiJUETHQ4hEcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak",
        ]
        #expect(md5(keys[0]) == md5(keys[1]))
        let directory = try TemporaryDirectory()
        for inlineLimit in [0, 16 << 10] {
            try await TestServer.with(
                directory: directory,
                configure: {
                    $0.layout = layout == "hashed" ? .hashed : .readable
                    $0.inlineLimit = inlineLimit
                }
            ) { (server) async throws in
                for round in 0..<2 {
                    for (index, key) in keys.enumerated() { try await server.put(key, Array("\(index) \(round)".utf8)) }
                    for (index, key) in keys.enumerated() {
                        #expect(try await server.get("/entries/\(key)/content").text == "\(index) \(round)")
                    }
                }
                let path = try await server.get("/entries/\(keys[1])").member("localPath")?.stringValue
                if layout == "hashed", inlineLimit == 0 { #expect(path?.hasSuffix(md5(keys[1]) + "~1") == true) }
                #expect(try await server.client.request("DELETE", "/entries/\(keys[0])").status == 200)
                #expect(try await server.get("/entries/\(keys[1])/content").text == "1 1")
                #expect(try await server.get("/entries/\(keys[0])/content").status == 404)
            }
        }
    }
}
