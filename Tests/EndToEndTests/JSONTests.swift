import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("/json")
struct JSONTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let url = "https://api.example.com/users"

    @Test("what is stored by URL and params comes back byte for byte, in whatever order the params are named")
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

    @Test("what POST /download fetched is found by url and params, and PUT replaces it")
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

    @Test("an object without members, null and nothing are 422; what is no JSON is 400; ttl 0 removes")
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
}
