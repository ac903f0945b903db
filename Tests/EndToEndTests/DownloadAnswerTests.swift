import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The parts of an origin's answer that Larder passes on: in an entry's metadata, in the fields of its content, or in
/// an error.
@Suite struct DownloadAnswerTests {
    private func key(_ reply: HTTPReply) throws -> String {
        try #require(try reply.json["entry"]?["key"]?.stringValue)
    }

    @Test("An entry has the final URL after redirects, and the file name that the origin suggests")
    func finalURL() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/r" {
                return try connection.respond(302, fields: [.location: "/deep/a?b=c"])
            }
            try connection.respond(
                fields: [.contentType: "application/pdf", .contentDisposition: "attachment; filename=\"../a b.pdf\""],
                body: "pdf")
        }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/r")), "ttl": 60])
            let entry = try #require(try reply.json["entry"])
            #expect(entry["url"] == .string(origin.url("/r")))
            #expect(entry["finalUrl"] == .string(origin.url("/deep/a?b=c")))
            #expect(entry["fileName"] == "a b.pdf")
            let key = try key(reply)
            // The reads come from the disk, from memory, and from the ready answers.
            for _ in 0..<3 {
                let content = try await server.get("/entries/\(key)/content")
                #expect(content.fields[.contentDisposition] == "attachment; filename=\"../a b.pdf\"")
                #expect(content.text == "pdf")
            }
            let explained = try await server.get("/entries/\(key)")
            #expect(try explained.json["finalUrl"] == .string(origin.url("/deep/a?b=c")))
            let stored = try await server.put("mine", [1])
            #expect(try stored.json["finalUrl"] == .null)
            #expect(try stored.json["fileName"] == .null)
        }
    }

    @Test("The file name survives a revalidation by a 304 that does not repeat the name")
    func revalidated() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] != nil { return try connection.respond(304, fields: [.eTag: "\"a\""]) }
            try connection.respond(
                fields: [.eTag: "\"a\"", .contentDisposition: "attachment; filename=a.txt"], body: "text")
        }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            let reply = try await server.download(call)
            #expect(try reply.member("outcome") == "revalidated")
            #expect(try reply.json["entry"]?["fileName"] == "a.txt")
        }
    }

    @Test("An archive that the origin labels with a Content-Encoding is served without decoding")
    func archive() async throws {
        let gzip: [UInt8] = [
            0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.contentType: "application/x-tar", .contentEncoding: "gzip"], body: gzip)
        }
        try await TestServer.with { (server) async throws in
            let key = try key(try await server.download(["url": .string(origin.url("/a.tar.gz")), "ttl": 60]))
            let content = try await server.get("/entries/\(key)/content")
            #expect(content.body == gzip)
            #expect(content.fields[.contentEncoding] == nil)
        }
    }

    @Test("A caller that sends Accept-Encoding gets the bytes undecoded, with their Content-Encoding")
    func ownCoding() async throws {
        let origin = try ScriptedOrigin { request, connection in
            #expect(request["Accept-Encoding"] == "br;q=1, identity")
            try connection.respond(fields: [.contentType: "text/plain", .contentEncoding: "br"], body: [1, 2, 3])
        }
        try await TestServer.with { (server) async throws in
            let key = try key(
                try await server.download([
                    "url": .string(origin.url("/a")), "ttl": 60, "headers": ["Accept-Encoding": "br;q=1, identity"],
                ]))
            for _ in 0..<3 {
                let content = try await server.get("/entries/\(key)/content")
                #expect(content.body == [1, 2, 3])
                #expect(content.fields[.contentEncoding] == "br")
            }
        }
    }

    @Test(
        "When the origin answers 429 or 503 with Retry-After, the caller gets the origin's status and Retry-After",
        arguments: [
            (429, "7", 429, "7"), (503, "Thu, 01 Jan 1970 00:00:00 GMT", 503, "0"), (429, "120 ", 429, "120"),
            (503, "soon", 502, nil), (503, nil, 502, nil), (500, "7", 502, nil), (404, "7", 502, nil),
        ] as [(Int, String?, Int, String?)])
    func retryAfter(originStatus: Int, value: String?, status: Int, shown: String?) async throws {
        let origin = try ScriptedOrigin { _, connection in
            var fields: HTTPFields = [:]
            fields[.retryAfter] = value
            try connection.respond(originStatus, fields: fields)
        }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/a")), "ttl": 60])
            #expect(reply.status == status)
            #expect(reply.fields[.retryAfter] == shown)
            #expect(try reply.member("originStatus") == .number(originStatus))
        }
    }

    @Test("Bytes of a response field that are not UTF-8 stay unchanged in the field, and appear as Latin-1 in JSON")
    func rawFields() async throws {
        let origin = try ScriptedOrigin { _, connection in
            let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Type: text/plain;a=".utf8)
            try connection.send(
                head + [0xfc, 0x0d, 0x0a] + Array("ETag: \"".utf8) + [0xfc, 0x22, 0x0d, 0x0a]
                    + Array("Content-Disposition: attachment; filename=\"".utf8)
                    + [0xe9, 0x22, 0x0d, 0x0a, 0x0d, 0x0a, 0x61])
        }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/a")), "ttl": 20])
            #expect(try reply.json["entry"]?["etag"] == "\"ü\"")
            #expect(try reply.json["entry"]?["contentType"] == "text/plain;a=ü")
            #expect(try reply.json["entry"]?["fileName"] == "é")
            let key = try key(reply)
            let bytes = try await server.client.withConnection { connection in
                try connection.send(
                    "GET /entries/\(key)/content HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return try connection.readToEnd()
            }
            #expect(bytes.contains([0x61, 0x3d, 0xfc, 0x0d]))
        }
    }

    @Test(
        "A download with NTLM or Negotiate credentials gets 400, because every caller may read its entry",
        arguments: ["NTLM a", "negotiate b"])
    func connectionCredentials(value: String) async throws {
        try await TestServer.with { (server) async throws in
            let reply = try await server.download([
                "url": "http://127.0.0.1:1/a", "headers": ["Authorization": .string(value)],
            ])
            #expect(reply.status == 400)
            #expect(try reply.member("pointer") == "/headers/Authorization")
        }
    }

    @Test(
        "If the origin's answer shows NTLM or Negotiate authentication, the download gets 502 and stores no entry",
        arguments: [("Persistent-Auth", "true"), ("WWW-Authenticate", "Negotiate oRQw"), ("WWW-Authenticate", "ntlm")])
    func connectionAuthentication(name: String, value: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [HTTPField.Name(name)!: value], body: "private")
        }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/a")), "ttl": 20])
            #expect(reply.status == 502)
            #expect(try await server.get("/entries").json["entries"]?.arrayValue?.isEmpty == true)
        }
    }
}
