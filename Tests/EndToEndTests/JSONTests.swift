import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The calls of /json")
struct JSONTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let url = "https://api.example.com/users"

    @Test("JSON that was stored by URL and params is returned byte for byte, for any order of the params")
    func roundTrip() async throws {
        try await TestServer.with { (server) async throws in
            let body = #"{ "n": 1.50, "big": 12345678901234567890 }"#
            let params = #"{"page": 2, "sort": ["b", "a"]}"#.percentEncoded
            let path = "/json?url=\(Self.url.percentEncoded)&params=\(params)"
            let stored = try await server.client.request("PUT", path + "&ttl=60", fields: Self.json, text: body)
            #expect(stored.status == 200)
            #expect(try stored.member("kind") == "json")
            #expect(try stored.member("url") == .string(Self.url + "?page=2&sort=a&sort=b"))
            let other = #"{"sort": ["a", "b"], "page": 2}"#.percentEncoded
            let reply = try await server.get("/json?url=\(Self.url.percentEncoded)&params=\(other)")
            #expect(reply.text == body)
            #expect(reply["Content-Type"] == "application/json")
            #expect(try await server.get("/json?url=\(Self.url.percentEncoded)").status == 404)
            server.clock.advance(by: .seconds(60))
            #expect(try await server.get(path).status == 404)
            #expect(try await server.get(path + "&stale=true").status == 200)
        }
    }

    @Test("GET /json returns the JSON of a download with the same url and params, and PUT /json replaces this JSON")
    func sharedWithDownloads() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.contentType: "text/html"], body: request.target == "/page" ? "<p>" : #"[1]"#)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await server.download(["url": .string(origin.url("/list")), "params": ["q": "x"], "ttl": 60])
            let path = "/json?url=\(origin.url("/list").percentEncoded)&params=\(#"{"q":"x"}"#.percentEncoded)"
            #expect(try await server.get(path).text == "[1]")
            _ = try await server.client.request("PUT", path, fields: Self.json, text: "[2]")
            #expect(try await server.get(path).text == "[2]")
            let cached = try await server.download(["url": .string(origin.url("/list")), "params": ["q": "x"]])
            #expect(try cached.member("outcome") == "cached")
            #expect(try cached.member("entry", "kind") == "json")

            _ = try await server.download(["url": .string(origin.url("/page")), "ttl": 60])
            #expect(try await server.get("/json?url=\(origin.url("/page").percentEncoded)").status == 406)
        }
    }

    @Test("A PUT of an empty body, {} or null gets 422, invalid JSON gets 400, and a ttl of 0 removes the entry")
    func refused() async throws {
        try await TestServer.with { (server) async throws in
            let path = "/json?url=\(Self.url.percentEncoded)"
            func put(_ text: String, _ query: String = "") async throws -> HTTPReply {
                try await server.client.request("PUT", path + query, fields: Self.json, text: text)
            }
            for text in ["", "{}", " { } ", "null", "\nnull\n"] {
                #expect(try await put(text).status == 422, "\(text)")
            }
            for text in ["{", "nul", "[1] [2]", "{\"a\": 01}"] {
                #expect(try await put(text).status == 400, "\(text)")
            }
            #expect(try await server.get(path).status == 404)
            for text in ["[]", "0", "\"\"", "false"] {
                #expect(try await put(text).status == 200, "\(text)")
                #expect(try await server.get(path).text == text)
            }
            #expect(try await put("[1]", "&ttl=0").json == ["removed": 1])
            #expect(try await server.get(path).status == 404)
        }
    }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// RFC 8259 §8.1: a parser may ignore a byte order mark.
    @Test("GET /json leaves out the byte order mark of stored or downloaded JSON")
    func byteOrderMark() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let length = request.target == "/long" ? 400_000 : 3
            let body = Self.mark + [0x5B] + [UInt8](repeating: 0x20, count: length) + [0x5D]
            try connection.respond(fields: [.contentType: "application/json"], body: body)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for length in [3, 400_000] {
                let url = origin.url(length == 3 ? "/a" : "/long")
                let text = "[" + String(repeating: " ", count: length) + "]"
                let bytes = Self.mark + Array(text.utf8)
                let path = "/json?url=\(url.percentEncoded)"
                for isDownload in [true, false] {
                    if isDownload {
                        _ = try await server.download(["url": .string(url), "ttl": 60])
                    } else {
                        let client = HTTPClient(port: server.api.port)
                        #expect(try await client.request("PUT", path, fields: Self.json, body: bytes).status == 200)
                    }
                    // The reads come from the disk and from memory.
                    for _ in 0..<3 {
                        let reply = try await server.get(path)
                        #expect(reply.text == text)
                        #expect(reply["Content-Length"] == "\(length + 2)")
                    }
                    let part = try await server.get(path, fields: [.range: "bytes=0-1"])
                    #expect(part.status == 206 && part.text == "[ ")
                    #expect(part["Content-Range"] == "bytes 0-1/\(length + 2)")
                    #expect(try await server.get(path, fields: [.range: "bytes=-1"]).text == "]")
                    #expect(try await server.get(path, fields: [.range: "bytes=\(length + 2)-"]).status == 416)
                    // The content of the entry has the unchanged bytes of the origin.
                    #expect(try await server.get("/entries/\(md5(url))/content").body == bytes)
                    _ = try await server.client.request("DELETE", "/entries/\(md5(url))")
                }
            }
        }
    }

    @Test("Every call that reads JSON ignores a byte order mark before the body")
    func callsWithByteOrderMark() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            let lines: HTTPFields = [.contentType: "application/x-ndjson"]
            let calls: [(String, String, HTTPFields, String)] = [
                ("POST", "/download", Self.json, #"{"url": "\#(url)"}"#),
                ("POST", "/download", form, #"{"url": "\#(url)"}"#),
                ("POST", "/downloads", Self.json, #"[{"url": "\#(url)"}]"#),
                ("POST", "/downloads", Self.json, #"{"url": "\#(url)"}"#),
                ("POST", "/downloads", lines, #"{"url": "\#(url)"}"#),
                ("PATCH", "/entries/\(md5(url))", Self.json, #"{"ttl": 5}"#), ("PUT", "/namespaces/a", Self.json, "{}"),
            ]
            let client = HTTPClient(port: server.api.port)
            for (method, target, fields, text) in calls {
                let reply = try await client.request(method, target, fields: fields, body: Self.mark + Array(text.utf8))
                #expect(reply.status == 200, "\(method) \(target): \(reply.text)")
                #expect(!reply.text.contains("error"), "\(reply.text)")
            }
        }
    }

    @Test(
        "JSON in another encoding than UTF-8 gets an error with an explanation, with or without a declared charset",
        arguments: [
            (String.Encoding.utf16, "UTF-16"), (.utf16LittleEndian, "UTF-16"), (.utf16BigEndian, "UTF-16"),
            (.utf32LittleEndian, "UTF-32"), (.isoLatin1, "UTF-8"),
        ])
    func otherEncodings(encoding: String.Encoding, name: String) async throws {
        let body = Array(try #require("[\"\u{E9}\"]".data(using: encoding)))
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: body) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let client = HTTPClient(port: server.api.port)
            for type in [
                "application/json", "application/json; charset=utf-16", "application/json; charset=iso-8859-1",
            ] {
                for (method, path) in [
                    ("PUT", "/json?url=http://a.example/"), ("POST", "/download"), ("PATCH", "/entries/k"),
                    ("PUT", "/namespaces/a"),
                ] {
                    let reply = try await client.request(method, path, fields: [.contentType: type], body: body)
                    let isDeclared = type.contains("charset")
                    #expect(reply.status == (isDeclared ? 415 : 400))
                    let words = isDeclared ? "send UTF-8" : name
                    #expect(try reply.member("detail")?.stringValue?.contains(words) == true, "\(path): \(reply.text)")
                }
            }
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 60])
            let reply = try await server.get("/json?url=\(url.percentEncoded)")
            #expect(reply.status == 406)
            #expect(try reply.member("detail")?.stringValue?.contains("/entries/{key}/content") == true)
            if encoding != .isoLatin1 { #expect(reply.text.contains(name)) }
            #expect(try await server.get("/entries/\(md5(url))/content").body == body)
        }
    }

    private static let calls: [(method: String, path: String, text: String)] = [
        ("PUT", "/json?url=http://a.example/", "[\"x\"]"),
        ("POST", "/download", #"{"url": "http://a.example/", "tags": ["x"]}"#),
        ("POST", "/downloads", #"[{"url": "http://a.example/", "tags": ["x"]}]"#),
        ("PATCH", "/entries/k", #"{"tags": ["x"]}"#), ("PUT", "/namespaces/a", #"{"version": "x"}"#),
    ]

    @Test("PUT accepts UTF-8 JSON, and ASCII JSON with any declared charset that extends ASCII")
    func takenCharsets() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("k", [1])
            for (method, path, text) in Self.calls {
                for (charset, text) in [
                    ("utf-8", text.replacing("x", with: "\u{E9}")), ("\"UTF-8\"", text.replacing("x", with: "\u{E9}")),
                    ("utf8", text), ("", text), ("us-ascii", text), ("ISO-8859-1", text), ("windows-1252", text),
                ] {
                    let fields: HTTPFields = [.contentType: "application/json; a=\"; charset=x\"; charset=\(charset)"]
                    let reply = try await server.client.request(method, path, fields: fields, text: text)
                    #expect(reply.status != 415 && reply.status != 400, "\(method) \(path) \(charset): \(reply.text)")
                }
            }
        }
    }

    @Test(
        "A PUT of JSON with a declared charset other than UTF-8 gets 415 with an explanation, and stores no entry",
        arguments: [
            ("iso-8859-1", false), ("US-ASCII", false), ("\"latin1\"", false), ("windows-1252", false),
            ("utf-16", true),
            ("UTF-16LE", true), ("utf-32", true), ("bogus", true), ("utf-8; charset=utf-16", true),
        ])
    func refusedCharsets(charset: String, isRefusedAsASCII: Bool) async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("k", [1])
            for (method, path, text) in Self.calls {
                for isASCII in isRefusedAsASCII ? [true, false] : [false] {
                    let fields: HTTPFields = [.contentType: "application/json;charset=\(charset)"]
                    let text = isASCII ? text : text.replacing("x", with: "\u{E9}")
                    let reply = try await server.client.request(method, path, fields: fields, text: text)
                    #expect(reply.status == 415, "\(method) \(path)")
                    #expect(try reply.member("detail")?.stringValue?.contains("send UTF-8") == true)
                }
            }
            #expect(server.service.totals.entries == 1)
        }
    }

    @Test("A download with a declared charset other than UTF-8 is JSON only when its bytes are ASCII")
    func declaredDownload() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let charset = request.target.dropFirst().split(separator: "/")[0]
            let body = Array((request.target.hasSuffix("ascii") ? "[\"x\"]" : "[\"\u{E9}\"]").utf8)
            try connection.respond(fields: [.contentType: "application/json; charset=\(charset)"], body: body)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for (target, status) in [
                ("/utf-8/", 200), ("/iso-8859-1/ascii", 200), ("/us-ascii/ascii", 200), ("/iso-8859-1/", 406),
                ("/us-ascii/", 406), ("/utf-16/", 406), ("/bogus/", 406),
            ] {
                let url = origin.url(target)
                #expect(try await server.download(["url": .string(url), "ttl": 60]).status == 200)
                let reply = try await server.get("/json?url=\(url.percentEncoded)")
                #expect(reply.status == status, "\(target)")
                #expect(reply.status == 200 || reply.text.contains("the declared charset is"), "\(reply.text)")
                #expect(try await server.get("/entries/\(md5(url))/content").status == 200)
            }
        }
    }
}
