import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Captured pages over HTTP")
struct PageRouteTests {
    private func withServer(
        waits: Gate? = nil, isHeld: @escaping @Sendable (String) -> Bool = { _ in false },
        _ body: (TestServer, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try PageOrigin.start(waits: waits, isHeld: isHeld)
        defer {
            waits?.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in try await body(server, origin) }
    }

    private func key(_ origin: ScriptedOrigin, _ path: String = "/") -> String { md5(origin.url(path)) + "-page" }

    @Test("A captured page has its state, counts, captures and entry, and only its entry is in the list of entries")
    func captured() async throws {
        try await withServer { server, origin in
            let page = try await server.capture([
                "url": .string(origin.url("/")), "ttl": 60, "tags": ["news"], "mode": "static",
            ])
            #expect(page.status == 200)
            let key = key(origin)
            #expect(try page.member("key")?.stringValue == key)
            #expect(try page.member("state") == "complete" && page.member("mode") == "static")
            #expect(try page.member("title")?.stringValue == PageOrigin.title)
            #expect(try page.member("captured") == 4 && page.member("missing") == 0)
            #expect(try page.member("failures")?.arrayValue == [] && page.member("limited") == false)
            #expect(try page.member("captures")?.arrayValue?.count == 1)
            #expect(try page.member("entry", "tags")?.arrayValue == ["news"])
            #expect(try page.member("entry", "expiresInSeconds") == 60)
            #expect(try page.member("lastCapture", "state") == "complete")
            #expect(try #require(page.member("bytes")?.doubleValue) > 100 && page.member("sharedBytes") == 0)
            for path in [key, md5(origin.url("/"))] {
                let again = try await server.get("/pages/\(path)")
                #expect(again.status == 200 && again.body == page.body)
            }
            let entries = try await server.get("/entries").member("entries")?.arrayValue
            #expect(entries?.compactMap { $0["key"]?.stringValue } == [key])
            let resources = try await server.get("/pages/\(key)/resources").member("resources")?.arrayValue
            let urls = ["/", "/style.css", "/image.png", "/back.png"].map { origin.url($0) }
            #expect(resources?.compactMap { $0["url"]?.stringValue } == urls)
            #expect(try await server.get("/pages/\(key)/text").text == "Head\nWords & more\nother\n")
            #expect(server.service.metrics.pages.captures(.complete).value == 1)
        }
    }

    @Test("Without Prefer the answer is 202 with the page's location, and requests share the running capture")
    func accepted() async throws {
        let gate = Gate("the page")
        try await withServer(waits: gate, isHeld: { $0 == "/" }) { server, origin in
            let body: JSON = ["url": .string(origin.url("/"))]
            let events = try await server.listen("type=page")
            for _ in 0..<2 {
                let reply = try await server.client.request(
                    "POST", "/pages", fields: [.contentType: "application/json"], body: body.utf8)
                #expect(reply.status == 202 && reply["Location"] == "/pages/\(key(origin))")
                #expect(try reply.member("state") == "fetching" && reply.member("entry") == nil)
            }
            #expect(try await server.get("/pages/\(key(origin))").member("state") == "fetching")
            #expect(try await server.get("/pages?state=fetching").member("pages")?.arrayValue?.count == 1)
            gate.open()
            try await poll("the end of the capture") { server.space.pages.runningCount == 0 }
            #expect(try await server.get("/pages/\(key(origin))").member("state") == "complete")
            #expect(origin.requests.count { $0.target == "/" } == 1)
            try await poll("the last event") { events.events.contains { $0.type == "page.finished" } }
            let first = try #require(events.events.first)
            #expect(first.type == "page.started" && first.key == key(origin))
            let last = try #require(events.events.last)
            #expect(last.type == "page.finished" && last.data["state"] == "complete" && last.data["captured"] == 4)
        }
    }

    @Test("A cancelled capture stores no page, and its waiting request gets 409")
    func cancelled() async throws {
        let gate = Gate("the style sheet")
        try await withServer(waits: gate, isHeld: { $0 == "/style.css" }) { server, origin in
            async let waiting = server.capture(["url": .string(origin.url("/"))])
            try await poll("the running capture") { origin.requests.contains { $0.target == "/style.css" } }
            #expect(try await server.client.request("DELETE", "/pages/\(key(origin))").status == 200)
            #expect(try await waiting.status == 409)
            let page = try await server.get("/pages/\(key(origin))")
            #expect(try page.member("state") == "cancelled" && page.member("entry") == nil)
            #expect(try await server.get("/entries").member("entries")?.arrayValue == [])
        }
    }

    @Test("A page with a refused resource is partial, and names the resource and the reason")
    func partial() async throws {
        try await withServer { server, origin in
            let page = try await server.capture(["url": .string(origin.url("/partial"))])
            #expect(try page.member("state") == "partial" && page.member("missing") == 1)
            let failure = try page.member("failures")?.arrayValue?.first
            #expect(failure?["url"]?.stringValue == origin.url("/refused") && failure?["status"] == 403)
            #expect(failure?["reason"] == "the origin answered with status 403")
            let listed = try await server.get("/pages?state=partial&q=HALF").member("pages")?.arrayValue
            #expect(listed?.count == 1 && listed?.first?["failures"] == nil)
            #expect(try await server.get("/pages?state=complete").member("pages")?.arrayValue == [])
            #expect(try await server.get("/pages?q=other").member("pages")?.arrayValue == [])
        }
    }

    @Test("A capture that cannot begin or has no document is refused with its reason")
    func refused() async throws {
        try await withServer { server, origin in
            let url = JSON.string(origin.url("/"))
            let requests: [(Int, JSON, String?)] = [
                (400, ["url": "nonsense"], "/url"), (400, ["mode": "static"], "/url"),
                (400, ["url": url, "mode": "fast"], "/mode"), (400, ["url": url, "unknown": 1], "/unknown"),
                (400, ["url": url, "maxSeconds": 0], "/maxSeconds"),
                (400, ["url": url, "cookies": ["a"]], "/cookies/0"),
                (400, ["url": url, "viewport": ["width": 1]], "/viewport/width"),
                (400, ["url": url, "viewport": 5], "/viewport"), (400, ["url": url, "scroll": "yes"], "/scroll"),
                (400, ["url": url, "html": 5], "/html"), (501, ["url": url, "mode": "rendered"], "/mode"),
                (403, ["url": "ftp://127.0.0.1/"], "/url"), (502, ["url": .string(origin.url("/gone"))], nil),
                (403, ["url": "http://192.0.2.1/"], "/url"),
            ]
            let client = HTTPClient(port: server.api.port)
            for (status, body, pointer) in requests {
                let reply = try await client.request(
                    "POST", "/pages",
                    fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "wait=60"], text: body.text)
                #expect(reply.status == status, "\(body.text): \(reply.text)")
                #expect(try reply.member("pointer")?.stringValue == pointer, "\(body.text)")
            }
            let failed = try await server.get("/pages/\(key(origin, "/gone"))")
            #expect(try failed.member("state") == "failed")
            #expect(try failed.member("lastCapture", "problem", "status") == 502)
            let detail = try failed.member("lastCapture", "problem", "detail")?.stringValue
            #expect(detail?.contains("the origin answered with status 404") == true, "\(detail ?? "")")
            #expect(try await server.get("/pages?state=failed").member("pages")?.arrayValue?.count == 2)
        }
    }

    @Test("The caller's own document takes the place of the page's document, which is not requested")
    func ownDocument() async throws {
        try await withServer { server, origin in
            let html = "<title>Mine é</title><img src=image.png><p>behind the login"
            let page = try await server.capture(["url": .string(origin.url("/private")), "html": .string(html)])
            #expect(try page.member("state") == "complete" && page.member("title") == "Mine é")
            #expect(origin.requests.map(\.target) == ["/image.png"])
            let place = try await server.openView(key(origin, "/private"))
            let replay = try await server.get(place + origin.url("/private"))
            #expect(replay.text.contains("behind the login") && replay.text.contains(place + origin.url("/image.png")))
        }
    }

    @Test("A capture of the caller's document in a cache without room fails, and the server goes on")
    func full() async throws {
        try await TestServer.with(configure: { $0.diskLimit = 2 << 20 }) { (server) async throws in
            try await server.put("pinned", Array(repeating: 1, count: 1_900_000), query: "pinned=true&ttl=60")
            let html = String(repeating: "<p>text", count: 60_000)
            let page = try await server.capture(["url": "http://127.0.0.1:1/", "html": .string(html)])
            #expect(page.status == 502 || page.status == 507, "\(page.text)")
            #expect(try await server.get("/livez").status == 200)
            #expect(try await server.get("/entries").member("entries")?.arrayValue?.count == 1)
        }
    }

    @Test("While a capture runs, a request with another document gets 409")
    func otherDocument() async throws {
        let gate = Gate("the image")
        try await withServer(waits: gate, isHeld: { $0 == "/image.png" }) { server, origin in
            let url = JSON.string(origin.url("/"))
            async let first = server.capture(["url": url, "html": "<img src=image.png>"])
            try await poll("the running capture") { !origin.requests.isEmpty }
            #expect(try await server.capture(["url": url, "html": "<p>other"]).status == 409)
            gate.open()
            #expect(try await first.status == 200)
        }
    }

    @Test("PATCH and DELETE of a page change its entry; paths of other entries are no pages")
    func changed() async throws {
        try await withServer { server, origin in
            _ = try await server.capture(["url": .string(origin.url("/"))])
            let key = key(origin)
            let json: HTTPFields = [.contentType: "application/json"]
            let patched = try await server.client.request(
                "PATCH", "/pages/\(key)", fields: json, body: Array(#"{"ttl": 5, "tags": ["x"], "pinned": true}"#.utf8))
            #expect(try patched.member("expiresInSeconds") == 5 && patched.member("pinned") == true)
            #expect(try await server.get("/pages?tag=x").member("pages")?.arrayValue?.count == 1)
            try await server.put("note", [1])
            for method in ["GET", "DELETE", "PATCH"] {
                let body = method == "PATCH" ? Array("{}".utf8) : []
                let reply = try await server.client.request(method, "/pages/note", fields: json, body: body)
                #expect(reply.status == 404)
            }
            #expect(try await server.put(key, [1]).status == 400)
            let removed = try await server.client.request("DELETE", "/pages/\(md5(origin.url("/")))")
            #expect(try removed.member("removed") == 1)
            #expect(try await server.get("/entries").member("entries")?.arrayValue?.count == 1)
            for path in ["", "/resources", "/text", "/view"] {
                #expect(try await server.get("/pages/\(key)x\(path)").status == 404)
            }
            for path in ["/resources", "/text", "/view"] {
                #expect(try await server.get("/pages/\(key)\(path)").status == 404)
            }
        }
    }

    @Test("A view renews the expiry date of a page with updateExpiry, and of no other page", arguments: [true, false])
    func sliding(updatesExpiry: Bool) async throws {
        try await withServer { server, origin in
            let page = try await server.capture([
                "url": .string(origin.url("/")), "ttl": 60, "updateExpiry": .bool(updatesExpiry),
            ])
            let before = try #require(page.member("entry", "expiryDate")?.date)
            server.clock.advance(by: .seconds(30))
            _ = try await server.openView(key(origin))
            let after = try await server.get("/pages/\(key(origin))").member("entry", "expiryDate")?.date
            #expect(after == (updatesExpiry ? before + .seconds(30) : before))
        }
    }

    @Test("The caller's fields and cookies reach only the page's own origin, and are in no answer")
    func credentials() async throws {
        let other = try ScriptedOrigin { request, connection in try connection.respond(body: "other") }
        defer { other.stop() }
        let origin = try ScriptedOrigin { request, connection in
            let isPage = request.target == "/"
            try connection.respond(
                fields: [.contentType: isPage ? "text/html" : "image/png", .setCookie: "set=theirs; Path=/"],
                body: isPage ? "<img src=own.png><img src='\(other.url("/foreign.png"))'>" : "own")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let page = try await server.capture([
                "url": .string(origin.url("/")), "cookies": ["sid=mine"], "headers": ["X-Key": "hush"],
            ])
            #expect(try page.member("captured") == 3)
            let own = try #require(origin.requests.first { $0.target == "/own.png" })
            #expect(own["Cookie"]?.contains("sid=mine") == true && own["X-Key"] == "hush")
            let foreign = try #require(other.requests.first)
            // Cookies of the other origin's own host may reach it, because cookies know no ports (RFC 6265 §8.5).
            #expect(foreign["Cookie"]?.contains("mine") != true && foreign["X-Key"] == nil)
            let place = try await server.openView(key(origin))
            var answers = [page]
            for path in ["/pages", "/pages/\(key(origin))", "/pages/\(key(origin))/resources", "/entries", place] {
                answers.append(try await server.get(path))
            }
            for url in [origin.url("/"), origin.url("/own.png"), other.url("/foreign.png")] {
                answers.append(try await server.get(place + url))
            }
            answers.append(try await server.get("/entries/\(key(origin))/content"))
            for answer in answers {
                #expect(answer.status == 200)
                let text = answer.text + answer.fields.map { "\($0.name): \($0.value)" }.joined()
                for secret in ["mine", "hush", "theirs"] { #expect(!text.contains(secret), "\(text)") }
            }
        }
    }
}
