import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Sources of subscriptions in their hard cases")
struct SubscriptionSourceTests {
    private struct Item {
        var id: String
        var path: String
        var date: Timestamp?
    }

    private func atom(_ items: [Item], _ web: TestWeb) -> TestWeb.Document {
        let entries = items.map { item in
            "<entry><id>\(item.id)</id><link href=\"\(web.url(item.path))\"/>"
                + (item.date.map { "<published>\($0.rfc3339)</published>" } ?? "") + "</entry>"
        }
        return .init(body: "<feed xmlns=\"http://www.w3.org/2005/Atom\">\(entries.joined())</feed>")
    }

    private func urls(_ paths: String..., in web: TestWeb) -> [String] { paths.map { web.url($0) } }

    @Test("An item dated 2099 counts as published when first listed, also over a restart, and later items overtake it")
    func future() async throws {
        let web = try TestWeb(["/old": "old", "/far": "far", "/1": "1", "/2": "2"])
        let (clock, directory) = (ManualClock(), try TemporaryDirectory())
        let start = clock.now()
        var items = [
            Item(id: "old", path: "/old", date: start - .seconds(3600)),
            Item(id: "far", path: "/far", date: Timestamp(seconds: 4_070_908_800)),
        ]
        web["/feed"] = atom(items, web)
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))], "latest": 2])
            try await server.waitForGeneration(1, of: "news")
            #expect(try await server.items(of: "news") == urls("/far", "/old", in: web))
        }
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            items.insert(Item(id: "1", path: "/1", date: start + .seconds(1800)), at: 0)
            web["/feed"] = atom(items, web)
            server.turn(.seconds(3600))
            try await server.refresh("news")
            #expect(try await server.items(of: "news") == urls("/1", "/far", in: web))
            items.insert(Item(id: "2", path: "/2", date: start + .seconds(5400)), at: 0)
            web["/feed"] = atom(items, web)
            server.turn(.seconds(3600))
            try await server.refresh("news")
            #expect(try await server.items(of: "news") == urls("/2", "/1", in: web))
            let far = try await server.get("/explain?url=\(web.url("/far").percentEncoded)")
            #expect(try far.member("subscriptions") == [])
        }
    }

    @Test("Items without a URL that can be fetched are left out, and the report has their number, also after a restart")
    func leftOut() async throws {
        let web = try TestWeb(["/1": "1"])
        let long = web.url("/" + String(repeating: "a", count: 9000))
        let links = [web.url("/1"), "file:///etc/passwd", long].map { "<link>\($0)</link>" } + [""]
        let items = links.enumerated().map { "<item><guid isPermaLink='false'>\($0)</guid>\($1)</item>" }
        web["/feed"] = .init(body: "<rss version='2.0'><channel>\(items.joined())</channel></rss>")
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))], "interval": "1d"])
            let report = try await server.waitForGeneration(1, of: "news")
            #expect(report["wanted"] == 1 && report["leftOut"] == 3, "\(report.text)")
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            let report = try await server.waitForGeneration(1, of: "news")
            #expect(report["state"] == "complete" && report["leftOut"] == 3, "\(report.text)")
            web["/feed"] = .init(body: "<rss><channel>\(items[0])</channel></rss>")
            try await server.refresh("news")
            #expect(try await server.get("/subscriptions/news").member("leftOut") == 0)
        }
    }

    @Test("A link of a scheme that is not permitted does not make the set incomplete, and is refused in a definition")
    func refusedScheme() async throws {
        let web = try TestWeb(["/1": "1"])
        let items = [web.url("/1"), "ftp://127.0.0.1/2"].map { "<item><guid>\($0)</guid><link>\($0)</link></item>" }
        web["/feed"] = .init(body: "<rss version='2.0'><channel>\(items.joined())</channel></rss>")
        try await TestServer.with { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))]])
            let report = try await server.waitForGeneration(1, of: "news")
            #expect(report["state"] == "complete" && report["wanted"] == 1 && report["leftOut"] == 1, "\(report.text)")
            let refused = try await server.client.request(
                "PUT", "/subscriptions/list", fields: [.contentType: "application/json"],
                text: #"{"source": {"urls": ["ftp://127.0.0.1/2"]}}"#)
            #expect(refused.status == 403 && refused.text.contains("scheme"), "\(refused.text)")
        }
    }

    @Test("A feed with only dates of 2099 keeps the order of its items")
    func onlyFutures() async throws {
        let web = try TestWeb(["/1": "1", "/2": "2", "/3": "3"])
        let far = Timestamp(seconds: 4_070_908_800)
        // The last item has the latest date.
        web["/feed"] = atom(
            (1...3).map { Item(id: "\($0)", path: "/\($0)", date: far + .seconds(Int64($0))) }, web)
        try await TestServer.with { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))], "latest": 2])
            try await server.waitForGeneration(1, of: "news")
            #expect(try await server.items(of: "news") == urls("/1", "/2", in: web))
        }
    }

    @Test("When ids change from http to https, or a link gets a new id, the members stay the same entries")
    func ids() async throws {
        let web = try TestWeb(["/1": "one", "/2": "two", "/3": "three"])
        web["/feed"] = atom(
            [
                Item(id: "http://h.example/1", path: "/1"), Item(id: "http://h.example/2", path: "/2"),
                Item(id: "http://h.example/3", path: "/3"),
            ], web)
        try await TestServer.with { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))], "latest": 3])
            try await server.waitForGeneration(1, of: "news")
            let before = try await entries(of: ["/1", "/2", "/3"], web, server)
            web.origin.forgetRequests()
            // The second item is listed under its new and its old id.
            web["/feed"] = atom(
                [
                    Item(id: "https://h.example/1", path: "/1"), Item(id: "https://h.example/new", path: "/2"),
                    Item(id: "http://h.example/2", path: "/2"), Item(id: "https://h.example/3", path: "/3"),
                ], web)
            server.turn(.seconds(60))
            let report = try await server.refresh("news")
            #expect(report["state"] == "complete" && report["wanted"] == 3 && report["held"] == 3)
            #expect(report["missing"] == [] && report["sourceProblem"] == .null)
            let members = web.origin.requests.filter { $0.target != "/feed" }
            #expect(members.count == 3 && members.allSatisfy { $0["If-None-Match"] != nil })
            #expect(try await entries(of: ["/1", "/2", "/3"], web, server) == before)
        }
    }

    /// The keys, digests and subscriptions of entries.
    private func entries(of paths: [String], _ web: TestWeb, _ server: TestServer) async throws -> [JSON] {
        var entries: [JSON] = []
        for path in paths {
            let entry = try await server.get("/entries/\(md5(web.url(path)))").json
            let holders = try await server.get("/explain?url=\(web.url(path).percentEncoded)").json
            entries.append([
                "key": try #require(entry["key"]), "digest": try #require(entry["digest"]),
                "subscriptions": try #require(holders["subscriptions"]),
            ])
        }
        return entries
    }

    @Test("A page in HTML that the origin confirms with 304 is still no feed", arguments: ["<html>Sorry</html>", ""])
    func confirmedPage(_ body: String) async throws {
        let web = try TestWeb(["/1": "one"])
        web["/feed"] = atom([Item(id: "1", path: "/1")], web)
        try await TestServer.with { (server) async throws in
            try await server.subscribe("news", ["source": ["feed": .string(web.url("/feed"))]])
            try await server.waitForGeneration(1, of: "news")
            web["/feed"] = .init(body: body)
            for _ in 0..<3 {
                let count = web.origin.requestCount(of: "/feed")
                try await server.beginRefresh("news")
                let report = try await server.waitForReport("news") { report in
                    web.origin.requestCount(of: "/feed") > count && report["refreshing"] == false
                        && report["sourceProblem"] != .null
                }
                #expect(report["held"] == 1 && report["wanted"] == 1)
            }
            web["/feed"] = atom([Item(id: "1", path: "/1")], web)
            try await server.beginRefresh("news")
            try await server.waitForReport("news") { $0["sourceProblem"] == .null && $0["refreshing"] == false }
            #expect(try await server.content(of: web.url("/1")) == "one")
        }
    }

    @Test(
        "A bomb and a loop in a source end as a problem in words, after one request",
        arguments: ["feed gzip", "sitemap gzip", "feed entities", "sitemap loop"])
    func hostile(_ kind: String) async throws {
        let bomb = kind.hasSuffix("gzip") ? try await Self.gzipBomb() : []
        let origin = try ScriptedOrigin { request, connection in
            switch kind {
            case "feed gzip": try connection.respond(fields: [.contentEncoding: "gzip"], body: bomb)
            case "sitemap gzip": try connection.respond(fields: [.contentType: "application/gzip"], body: bomb)
            case "feed entities":
                let entities = (1...9).map { "<!ENTITY e\($0) \"\(String(repeating: "&e\($0 - 1);", count: 10))\">" }
                try connection.respond(
                    body: "<!DOCTYPE rss [<!ENTITY e0 \"0123456789\">\(entities.joined())]>"
                        + "<rss version=\"2.0\"><channel><title>&e9;</title></channel></rss>")
            default:
                let own = "http://\(request["Host"] ?? "")/source"
                try connection.respond(
                    body: "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
                        + "<sitemap><loc>\(own)</loc></sitemap></sitemapindex>")
            }
        }
        try await TestServer.with { (server) async throws in
            let member = kind.hasPrefix("feed") ? "feed" : "sitemap"
            let source = JSON.object([.init(member, .string(origin.url("/source")))])
            try await server.subscribe("set", ["source": source])
            let report = try await server.waitForReport("set") {
                $0["sourceProblem"] != .null && $0["refreshing"] == false
            }
            #expect(report["sourceProblem"]?["reason"]?.stringValue?.isEmpty == false)
            #expect(origin.requestCount == 1)
            #expect(try await server.get("/readyz").status == 200)
        }
    }

    /// 64 MiB of zeros in a gzip file of 64 KiB, which is longer than a source may be.
    private static func gzipBomb() async throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let path = directory.path("bomb")
        let made = try await blocking {
            try ChildProcess.run("sh", ["-c", "head -c 67108864 /dev/zero | gzip > \"$0\"", path])
        }
        try #require(made.exit == .status(0), "\(made.text)")
        return try directory.read("bomb")
    }
}
