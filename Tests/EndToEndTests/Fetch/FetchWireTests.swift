import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The messages and the entries of /fetch")
struct FetchWireTests {
    private func fetch(
        _ server: TestServer, _ target: String, _ fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request("GET", target, fields: fields)
        try await poll("the end of the fetch", every: .milliseconds(1)) {
            server.space.gateway.fetchCount == 0
        }
        try await server.space.cache.flush()
        return reply
    }

    @Test(
        "Larder sends the target of a URL to the origin byte for byte",
        arguments: [
            "/", "/?", "//", "//a//b", "/a%2Fb", "/a%2fb", "/../a", "/a/./b/..", "/%7Eu", "/~u",
            "/?a=1&&b", "/?q=a?b/c",
            "/a;b=c", "/%00", "/!$'()*,=:@",
        ])
    func target(_ target: String) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await fetch(server, "/fetch/" + origin.url(target)).status == 200)
            #expect(origin.requests.map(\.target) == [target])
        }
    }

    @Test("A fetch of the URL http:/host, with one slash, gets the same answer as a fetch of http://host")
    func foldedSlashes() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await fetch(server, "/fetch/" + origin.url("/a")).status == 200)
            #expect(try await fetch(server, "/fetch/http:/127.0.0.1:\(origin.port)/a").text == "x")
            #expect(origin.requestCount == 1)
        }
    }

    @Test(
        "The field lines of new and stored answers keep their order, bytes and case (RFC 9110 §5.3, §5.5)"
    )
    func lines() async throws {
        let head =
            "X-Bytes: caf\u{e9}\r\nSet-Cookie: a=1\r\nx-LOWER: 1\r\nSet-Cookie: b=2\r\nCache-Control: max-age=60\r\n"
        let origin = try ScriptedOrigin { _, connection in
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\(head)\r\nx"
            try connection.send(text.unicodeScalars.map { UInt8($0.value) })
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<2 {
                let reply = try await fetch(server, "/fetch/" + origin.url("/a"))
                let names = ["X-Bytes", "Set-Cookie", "x-LOWER", "Cache-Control"]
                #expect(
                    reply.fields.map(\.name.rawName).filter(names.contains)
                        == ["X-Bytes", "Set-Cookie", "x-LOWER", "Set-Cookie", "Cache-Control"])
                #expect(reply.fields[values: .setCookie] == ["a=1", "b=2"])
                let bytes = reply.fields.first { $0.name.rawName == "X-Bytes" }?.withUnsafeBytesOfValue {
                    Array($0)
                }
                #expect(bytes == [0x63, 0x61, 0x66, 0xe9])
            }
            #expect(origin.requestCount == 1)
        }
    }

    @Test(
        "A field with an empty value is passed on in new, stored and ready answers and in 103 (RFC 9110 §5.5)",
        arguments: ["X-Empty:\r\nVary:\r\nLocation: \r\n", "Location:\r\nX-Empty:\t\r\nVary: \r\n"])
    func emptyValues(lines: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.send(
                "HTTP/1.1 103 Early Hints\r\nX-Empty:\r\nLink: </a>\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\n\(lines)Content-Length: 1\r\nCache-Control: max-age=60\r\n\r\nx")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for round in 0..<5 {
                let reply = try await fetch(server, "/fetch/" + origin.url("/a"))
                #expect(reply.fields[values: .init("X-Empty")!] == [""], "\(round)")
                #expect(reply.fields[values: .location] == [""], "\(round)")
                #expect(reply.fields[values: .vary].first == "", "\(round)")
                if round == 0 { #expect(reply.interim.first?.fields[values: .init("X-Empty")!] == [""]) }
            }
            #expect(server.space.cache.hitsAtHand > 0)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("GET /fetch?url=…&ttl=… requests the parameter's URL unchanged, and a hit renews the expiry date")
    func query() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "no-store"], body: "\(request.target) \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch?url=\(origin.url("/a?b=c%2F").percentEncoded)&ttl=60&updateExpiry=true"
            for _ in 0..<3 {
                #expect(try await fetch(server, target).text == "/a?b=c%2F 0")
                server.clock.advance(by: .seconds(50))
            }
            server.clock.advance(by: .seconds(20))
            #expect(try await fetch(server, target).text == "/a?b=c%2F 1")
        }
    }

    @Test("Each variant is a separate entry, and DELETE /entries/<md5> removes all variants of the URL")
    func variants() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            for language in ["en", "de"] {
                _ = try await fetch(server, "/fetch/" + url, [.acceptLanguage: language])
            }
            let entries = try #require(
                try await server.get("/entries?kind=response").member("entries")?.arrayValue)
            #expect(entries.count == 2)
            #expect(entries.allSatisfy { $0["url"]?.stringValue == url && $0["kind"] == "response" })
            #expect(entries.allSatisfy { $0["key"]?.stringValue?.hasPrefix(md5(url)) == true })
            #expect(
                try await server.client.request("DELETE", "/entries/\(md5(url))").json == ["removed": 2])
            #expect(try await server.get("/entries").member("entries") == [])
        }
    }

    @Test("A PATCH of a response's ttl and tags applies to every client")
    func patch() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            _ = try await fetch(server, target, [HTTPField.Name("Larder-Tags")!: "a, b"])
            let entry = try #require(
                try await server.get("/entries?tag=b").member("entries")?.arrayValue?.first)
            let key = try #require(entry["key"]?.stringValue)
            let changed = try await server.client.request(
                "PATCH", "/entries/\(key.percentEncoded)", fields: [.contentType: "application/json"],
                text: #"{"ttl": 600, "tags": ["c"]}"#)
            #expect(changed.status == 200)
            #expect(try await server.get("/entries?tag=c").member("entries")?.arrayValue?.count == 1)
            server.clock.advance(by: .seconds(500))
            #expect(try await fetch(server, target).text == "0")
            server.clock.advance(by: .seconds(101))
            #expect(try await fetch(server, target).text == "1")
        }
    }

    @Test(
        "A PATCH of a response during its validation stays in effect, whether a 304 or a new body arrives",
        arguments: [304, 200])
    func patchDuringValidation(status: Int) async throws {
        let gate = Gate("the response has been changed")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            let isConfirmed = request.index > 0 && status == 304
            try connection.respond(
                isConfirmed ? 304 : 200,
                fields: [.cacheControl: "max-age=60", .eTag: isConfirmed ? "\"0\"" : "\"\(request.index)\""],
                body: isConfirmed ? "" : "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            let tags: HTTPFields = [HTTPField.Name("Larder-Tags")!: "a"]
            _ = try await fetch(server, target, tags)
            let entry = try #require(
                try await server.get("/entries?tag=a").member("entries")?.arrayValue?.first)
            let key = try #require(entry["key"]?.stringValue)
            server.clock.advance(by: .seconds(61))
            async let validated = HTTPClient(port: server.api.port).request("GET", target, fields: tags)
            try await origin.waitForRequests(2)
            let changed = try await server.client.request(
                "PATCH", "/entries/\(key.percentEncoded)", fields: [.contentType: "application/json"],
                text: #"{"ttl": 600, "tags": ["c"]}"#)
            #expect(changed.status == 200)
            gate.open()
            let text = status == 304 ? "0" : "1"
            #expect(try await validated.text == text)
            try await server.waitForFetches()
            #expect(try await server.get("/entries?tag=c").member("entries")?.arrayValue?.first?["tags"] == ["c"])
            server.clock.advance(by: .seconds(500))
            #expect(try await fetch(server, target).text == text)
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Larder lists and purges a cache group as a tag, even if the group's name is not a valid tag")
    func groupWithComma() async throws {
        let long = String(repeating: "g", count: 200)
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", HTTPField.Name("Cache-Groups")!: "\"a, b\", \"\(long)\""],
                body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await fetch(server, "/fetch/" + origin.url("/a"))
            let entry = try #require(
                try await server.get("/entries?tag=\(long)").member("entries")?.arrayValue?.first)
            #expect(entry["tags"] == ["a, b", .string(long)])
            #expect(
                try await server.client.request("DELETE", "/entries?tag=a,%20b").json == ["removed": 1])
        }
    }

    @Test("Larder ignores blank members of Larder-Tags (RFC 9110 §5.6.1.2)")
    func blankTags() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await fetch(
                server, "/fetch/" + origin.url("/a"), [HTTPField.Name("Larder-Tags")!: "a, ,,b ,"])
            #expect(reply.status == 200)
            let entries = try await server.get("/entries?tag=a").member("entries")
            #expect(entries?.arrayValue?.first?["tags"] == ["a", "b"])
        }
    }

    @Test("/entries/<key>/content of a stored gzip body has Content-Encoding: gzip (RFC 9110 §8.4)")
    func contentEncoding() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], body: "coded")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await fetch(server, "/fetch/" + origin.url("/a"))
            let entry = try #require(
                try await server.get("/entries").member("entries")?.arrayValue?.first)
            let key = try #require(entry["key"]?.stringValue)
            let content = try await server.get("/entries/\(key.percentEncoded)/content")
            #expect(content.text == "coded")
            #expect(content["Content-Encoding"] == "gzip")
        }
    }

    @Test("A fetch from an origin with a forbidden address gets 403")
    func refused() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.allowedOrigins = [] }) { (server) async throws in
            #expect(try await fetch(server, "/fetch/" + origin.url("/")).status == 403)
            #expect(origin.requestCount == 0)
        }
    }

    @Test("When Larder serves a stale answer for an origin's error, it cancels the request to the origin (RFC 5861 §4)")
    func staleAnswerEndsTheFlight() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=60, stale-if-error=60"]
            try connection.respond(request.index == 0 ? 200 : 503, fields: fields, body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            _ = try await fetch(server, target)
            server.clock.advance(by: .seconds(61))
            #expect(try await fetch(server, target).text == "0")
            #expect(server.space.gateway.fetchCount == 0)
        }
    }

    @Test("A request with a repeated Larder field gets 400")
    func twice() async throws {
        try await TestServer.with { (server) async throws in
            let ttl = HTTPField.Name("Larder-TTL")!
            var fields: HTTPFields = [ttl: "60"]
            fields.append(HTTPField(name: ttl, value: "6000"))
            let reply = try await fetch(server, "/fetch/http://127.0.0.1:1/", fields)
            #expect(reply.status == 400)
            #expect(try reply.json["pointer"] == "/Larder-TTL")
        }
    }

    @Test("Larder decrements Max-Forwards of OPTIONS, and answers 501 when it is zero (RFC 9110 §7.6.2)")
    func maxForwards() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: request["Max-Forwards"] ?? "")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let client = HTTPClient(port: server.api.port)
            let name = HTTPField.Name("Max-Forwards")!
            let target = "/fetch/" + origin.url("/")
            #expect(try await client.request("OPTIONS", target, fields: [name: "5"]).text == "4")
            #expect(try await client.request("OPTIONS", target, fields: [name: "0"]).status == 501)
            #expect(try await client.request("GET", target, fields: [name: "0"]).text == "0")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Via names the HTTP version of the client's request (RFC 9110 §7.6.3)", arguments: ["1.0", "1.1"])
    func via(version: String) async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request["Via"] ?? "") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port).withConnection { connection in
                try connection.send("GET /fetch/\(origin.url("/")) HTTP/\(version)\r\nHost: localhost\r\n\r\n")
                return try connection.readReply()
            }
            #expect(reply.text == "\(version) larder")
        }
    }

    @Test("A HEAD request with a body gets 400")
    func headWithBody() async throws {
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port)
                .request("HEAD", "/fetch/http://127.0.0.1:1/", body: [1])
            #expect(reply.status == 400)
        }
    }
}
