import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Subscriptions over HTTP")
struct SubscriptionRouteTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    /// Puts a subscription of the given URLs, and waits for its first generation.
    private func subscribe(
        _ server: TestServer, _ urls: [String], _ more: [JSON.Member] = [], as name: String = "set"
    ) async throws {
        let definition = JSON.object(
            [.init("source", ["urls": .array(urls.map(JSON.string))]), .init("minGap", 0)] + more)
        let made = try await server.client.request(
            "PUT", "/subscriptions/\(name)", fields: Self.json, body: definition.utf8)
        #expect(made.status == 201 && made["Location"] == "/subscriptions/\(name)", "\(made.text)")
        try await server.waitForGeneration(1, of: name)
    }

    @Test("A held copy is readable when stale, without a parameter and without its origin; purges by filter leave it")
    func staleReads() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: "application/json"], body: "[1]")
        }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let key = md5(url)
            try await subscribe(server, [url], [.init("ttl", "1m")])
            #expect(try await server.get("/entries/\(key)/content")["Larder-Stale"] == nil)
            origin.stop()
            server.clock.advance(by: .seconds(90))
            for path in ["/entries/\(key)/content", "/json?url=\(url.percentEncoded)"] {
                for seconds in [90, 91] {
                    let reply = try await server.get(path)
                    #expect(reply.status == 200 && reply.text == "[1]", "\(path)")
                    #expect(reply["Larder-Stale"] == "1" && reply["Age"] == "\(seconds)", "\(path)")
                    server.clock.advance(by: .seconds(1))
                }
                server.clock.advance(by: .seconds(-2))
            }
            let tag = try #require(try await server.get("/entries/\(key)/content")["ETag"])
            let unchanged = try await server.get("/entries/\(key)/content", fields: [.ifNoneMatch: tag])
            #expect(unchanged.status == 304 && unchanged["Larder-Stale"] == "1")
            let download = try await server.download(["url": .string(url)])
            #expect(try download.status == 200 && download.member("outcome") == "stale")
            #expect(try await server.get("/explain?url=\(url.percentEncoded)").member("subscriptions") == ["set"])
            let purge = try await server.client.request("DELETE", "/entries?state=stale")
            #expect(try purge.member("removed") == 0)
            #expect(try await server.get("/entries/\(key)/content").status == 200)
            let end = try await server.client.request("DELETE", "/subscriptions/set")
            #expect(try end.status == 200 && end.member("removed") == 1)
            #expect(try await server.get("/entries/\(key)/content").status == 404)
            #expect(try await server.get("/subscriptions/set").status == 404)
        }
    }

    @Test("GET /entries and GET /entries/{key} name the subscriptions that hold an entry")
    func heldEntries() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        try await TestServer.with { (server) async throws in
            let urls = ["/a", "/b"].map { origin.url($0) }
            try await subscribe(server, urls)
            try await subscribe(server, [urls[1]], as: "other")
            #expect(try await server.download(["url": .string(origin.url("/c"))]).status / 100 == 2)
            let expected: [String: JSON] = [urls[0]: ["set"], urls[1]: ["other", "set"], origin.url("/c"): []]
            let list = try #require(try await server.get("/entries").member("entries")?.arrayValue)
            #expect(list.count == 3)
            for entry in list {
                let url = try #require(entry["url"]?.stringValue)
                #expect(entry["held"] == expected[url], "\(url)")
                #expect(try await server.get("/entries/\(md5(url))").member("held") == expected[url], "\(url)")
            }
            let end = try await server.client.request("DELETE", "/subscriptions/set?keep=true")
            #expect(end.status == 200)
            #expect(try await server.get("/entries/\(md5(urls[1]))").member("held") == ["other"])
        }
    }

    @Test("A list has pages in the order of names, and leaves out the URLs of definitions")
    func pages() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "a") }
        try await TestServer.with { (server) async throws in
            let sources: [(String, JSON)] = [
                ("b", ["urls": [.string(origin.url("/1"))]]), ("a", ["urls": [.string(origin.url("/2"))]]),
                ("c", ["feed": .string(origin.url("/3"))]),
            ]
            for (name, source) in sources {
                let definition: JSON = ["source": source, "minGap": 0]
                let made = try await server.client.request(
                    "PUT", "/subscriptions/\(name)", fields: Self.json, body: definition.utf8)
                #expect(made.status == 201, "\(made.text)")
                let report = try await server.get("/subscriptions/\(name)")
                let kind = name == "c" ? "feed" : "urls"
                #expect(try report.member("definition")?["source"]?[kind] != nil)
            }
            let first = try await server.get("/subscriptions?limit=2")
            let shown = try #require(try first.member("subscriptions")?.arrayValue)
            #expect(shown.map { $0["name"]?.stringValue } == ["a", "b"])
            #expect(shown.map { $0["definition"]?["source"] } == [.object([]), .object([])])
            #expect(shown.allSatisfy { $0["definition"]?["interval"] != nil })
            #expect(try first.member("nextCursor") == "b")
            let second = try await server.get("/subscriptions?limit=2&cursor=b")
            #expect(try second.member("subscriptions")?.arrayValue?.map { $0["name"]?.stringValue } == ["c"])
            #expect(try second.member("nextCursor") == nil)
            #expect(try await server.get("/subscriptions?cursor=a%20b").status == 400)
        }
    }

    @Test("A faulty definition is refused with the place of the fault; conditions hold")
    func refused() async throws {
        try await TestServer.with { (server) async throws in
            let foreign = try await server.client.request(
                "PUT", "/credentials/foreign", fields: Self.json,
                text: #"{"origins": ["http://127.0.0.1:2"], "headers": {"Authorization": "x"}}"#)
            #expect(foreign.status == 200, "\(foreign.text)")
            let faults: [(String, Int, String)] = [
                (#"{}"#, 400, "/source"), (#"{"source": {"feed": "x"}}"#, 400, "/source/feed"),
                (#"{"source": {"urls": []}}"#, 400, "/source/urls"),
                (#"{"source": {"urls": ["http://h.example/"]}, "interval": 1}"#, 400, "/interval"),
                (#"{"source": {"urls": ["http://h.example/"]}, "headers": {"Cookie": "a=b"}}"#, 400, "/headers/Cookie"),
                (#"{"source": {"urls": ["http://10.0.0.1/"]}}"#, 403, "/source"),
                (#"{"source": {"urls": ["http://127.0.0.1:1/"]}, "credential": "none"}"#, 422, "/credential"),
                (#"{"source": {"feed": "http://127.0.0.1:1/"}, "credential": "foreign"}"#, 422, "/credential"),
            ]
            for (text, status, pointer) in faults {
                let reply = try await server.client.request("PUT", "/subscriptions/x", fields: Self.json, text: text)
                #expect(try reply.status == status && reply.member("pointer")?.stringValue == pointer, "\(reply.text)")
            }
            let token = "larder_ci_" + String(repeating: "a", count: 43)
            let spelled = token.replacing("_", with: "%5F")
            for (text, pointer) in [
                (#"{"source": {"feed": "http://127.0.0.1:1/?a=\#(token)"}}"#, "/source"),
                (#"{"source": {"urls": ["http://127.0.0.1:1/", "http://127.0.0.1:1/\#(spelled)"]}}"#, "/source"),
                (#"{"source": {"urls": ["http://127.0.0.1:1/"]}, "headers": {"A": "\#(token)"}}"#, "/headers"),
                (#"{"source": {"urls": ["http://127.0.0.1:1/"]}, "headers": {"\#(token)": "a"}}"#, "/headers"),
            ] {
                let reply = try await server.client.request("PUT", "/subscriptions/x", fields: Self.json, text: text)
                #expect(try reply.status == 400 && reply.member("pointer")?.stringValue == pointer, "\(reply.text)")
                #expect(!reply.text.contains(token))
            }
            var fields = Self.json
            fields[.ifMatch] = "*"
            let body = #"{"source": {"urls": ["http://127.0.0.1:1/"]}}"#
            let absent = try await server.client.request("PUT", "/subscriptions/x", fields: fields, text: body)
            #expect(absent.status == 412)
            #expect(try await server.get("/subscriptions").member("subscriptions") == [])
        }
    }
}
