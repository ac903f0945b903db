import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The completeness and truth of openapi.yaml")
struct ContractTests {
    @Test("Every route is documented, and every documented operation is a route")
    func routes() async throws {
        let document = try OpenAPIDocument.repository()
        try await TestServer.with { (server) async throws in
            // The document has HEAD only where HEAD differs from GET. For a route that accepts any method, it has the
            // common methods.
            let routes = server.api.routes.filter { $0.method != "HEAD" }
            let open = Set(routes.filter { $0.method == "*" }.map(\.pattern))
            let operations = document.operations.filter { $0.method != "HEAD" }
            #expect(
                Set(routes.filter { $0.method != "*" }.map { "\($0.method) \($0.pattern)" })
                    == Set(
                        operations.filter { !open.contains($0.routePattern) }.map { "\($0.method) \($0.routePattern)" })
            )
            #expect(open.isSubset(of: operations.map(\.routePattern)))
            let patterns = Set(routes.map(\.pattern))
            for operation in document.operations where operation.method == "HEAD" {
                #expect(patterns.contains(operation.routePattern))
            }
        }
    }

    @Test("The server serves openapi.yaml exactly as it is in the repository")
    func served() async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await server.get("/openapi.yaml").text == OpenAPIDocument.repositoryText())
        }
    }

    /// Makes every documented call once; the client checks each answer against its schema. Other
    /// suites test calls that fail, and their client checks the answers in the same way.
    @Test("Every documented call gets an answer that matches its documentation")
    func everyCall() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.contentType: "application/json"], body: #"{"a": 1}"#)
        }
        defer { origin.stop() }
        let document = try OpenAPIDocument.repository()
        let json: HTTPFields = [.contentType: "application/json"]
        try await TestServer.with { (server) async throws in
            let url = origin.url("/data")
            let key = md5(url)
            let query = "url=\(url.percentEncoded)"
            let calls: [(Int, String, String, HTTPFields, String)] = [
                (200, "POST", "/download", json, #"{"url": "\#(url)", "ttl": 60, "tags": ["t"], "params": {}}"#),
                (200, "POST", "/downloads", json, #"[{"url": "\#(url)"}, {"url": "x"}]"#),
                (200, "GET", "/downloads", [:], ""), (200, "GET", "/downloads/\(key)", [:], ""),
                (409, "DELETE", "/downloads/\(key)", [:], ""),
                (200, "PUT", "/entries/note/content?ttl=60&tags=a&pinned=true", [.contentType: "text/plain"], "hi"),
                (200, "GET", "/entries?limit=1", [:], ""), (200, "GET", "/entries/\(key)", [:], ""),
                (200, "HEAD", "/entries/\(key)", [:], ""), (200, "GET", "/entries/\(key)/content", [:], ""),
                (206, "GET", "/entries/\(key)/content", [.range: "bytes=0-1"], ""),
                (416, "GET", "/entries/\(key)/content", [.range: "bytes=100-"], ""),
                (200, "HEAD", "/entries/\(key)/content", [:], ""),
                (304, "GET", "/entries/\(key)/content", [.ifNoneMatch: "*"], ""),
                (200, "PATCH", "/entries/\(key)", json, #"{"ttl": 5.5, "tags": [], "pinned": false}"#),
                (200, "PUT", "/json?\(query)&ttl=60", json, "[1]"), (200, "GET", "/json?\(query)", [:], ""),
                (200, "GET", "/explain?\(query)", [:], ""), (400, "GET", "/explain", [:], ""),
                (200, "DELETE", "/entries/note", [:], ""), (200, "DELETE", "/entries?all=true&dryRun=true", [:], ""),
                (200, "GET", "/fetch?\(query)&ttl=60&updateExpiry=true&tags=a,b", [:], ""),
                (200, "HEAD", "/fetch?\(query)&ttl=60", [:], ""), (400, "GET", "/fetch", [:], ""),
                (414, "GET", "/fetch?url=" + String(repeating: "x", count: 20_000), [:], ""),
                (431, "GET", "/stats", [HTTPField.Name("X-Long")!: String(repeating: "x", count: 20_000)], ""),
                (200, "GET", "/fetch/\(url)?a=b", [.larderTTL: "60"], ""), (400, "GET", "/fetch/x", [:], ""),
                (200, "HEAD", "/fetch/\(url)?a=b", [.larderTTL: "60"], ""), (200, "POST", "/fetch/\(url)", json, "[1]"),
                (200, "PUT", "/fetch/\(url)", [.contentType: "text/plain"], "x"),
                (200, "PATCH", "/fetch/\(url)", json, "{}"), (200, "DELETE", "/fetch/\(url)", [:], ""),
                (200, "OPTIONS", "/fetch/\(url)", [:], ""), (404, "GET", "/fetch/", [:], ""),
                // EventTests cover the successful answer, which has no end.
                (400, "GET", "/events?type=none", [:], ""), (200, "HEAD", "/events", [:], ""),
                (404, "GET", "/events?namespace=none", [:], ""),
                (200, "PUT", "/namespaces/a", json, #"{"version": "2", "origins": ["localhost"]}"#),
                (400, "PUT", "/namespaces/a", json, #"{"layout": "flat"}"#), (400, "PUT", "/namespaces/A", json, "{}"),
                (409, "PUT", "/namespaces/b", json, #"{"diskLimit": "1TiB"}"#),
                (200, "GET", "/namespaces", [:], ""), (200, "GET", "/namespaces/a", [:], ""),
                (404, "GET", "/namespaces/b", [:], ""), (200, "DELETE", "/namespaces/a", [:], ""),
                (404, "DELETE", "/namespaces/a", [:], ""), (409, "DELETE", "/namespaces/default", [:], ""),
                (200, "GET", "/stats", [:], ""), (200, "POST", "/memory/trim?target=1MiB", [:], ""),
                (400, "POST", "/memory/trim?target=-1", [:], ""), (200, "GET", "/metrics", [:], ""),
                (200, "GET", "/livez", [:], ""), (200, "GET", "/readyz", [:], ""),
                (200, "GET", "/openapi.yaml", [:], ""), (404, "GET", "/nowhere", [:], ""),
                (200, "GET", "/", [:], ""), (200, "GET", "/dashboard/main.js", [:], ""),
                (404, "GET", "/dashboard/none.js", [:], ""),
                (200, "GET", "/docs", [:], ""), (200, "GET", "/docs/style.css", [:], ""),
                (405, "POST", "/stats", [:], ""),
                (202, "POST", "/pages", json, #"{"url": "\#(url)", "html": "<title>T</title>"}"#),
                (501, "POST", "/pages", json, #"{"url": "\#(url)", "mode": "rendered"}"#),
            ]
            var called: Set<String> = []
            func call(
                _ status: Int, _ method: String, _ target: String, _ fields: HTTPFields = [:], _ text: String = ""
            ) async throws -> HTTPReply {
                let reply = try await server.client.request(method, target, fields: fields, text: text)
                #expect(reply.status == status, "\(method) \(target)")
                if let operation = document.operation(method: method, target: target) { called.insert(operation.id) }
                return reply
            }
            for (status, method, target, fields, text) in calls {
                _ = try await call(status, method, target, fields, text)
            }
            try await poll("the end of the capture") { server.space.pages.runningCount == 0 }
            let page = "/pages/\(key)-page"
            for path in ["/pages", page, page + "/resources", page + "/text"] { _ = try await call(200, "GET", path) }
            let view = try #require(try await call(303, "GET", page + "/view")["Location"])
            _ = try await call(200, "GET", view)
            _ = try await call(200, "GET", view + url)
            _ = try await call(404, "GET", view + "https://other.example/")
            _ = try await call(200, "PATCH", page, json, #"{"ttl": 60}"#)
            // The server of the test has no browser, so the page has no picture.
            _ = try await call(404, "GET", page + "/screenshot")
            let archive = try await call(200, "GET", page + "/export").body
            _ = try await call(200, "DELETE", page)
            let imported = try await server.client.request(
                "POST", "/pages/import?\(query)", fields: [.contentType: "application/octet-stream"], body: archive)
            #expect(imported.status == 200 && called.insert("importPage").inserted)
            try await callOutbox { try await call($0, $1, $2, $3, $4) }
            try await callSubscriptions(of: url) { try await call($0, $1, $2, $3, $4) }
            #expect(called == Set(document.operations.map(\.id)))
            server.api.beginDraining()
            #expect(try await server.get("/readyz").status == 503)
        }
    }

    private func callSubscriptions(
        of url: String, _ call: (Int, String, String, HTTPFields, String) async throws -> HTTPReply
    ) async throws {
        let json: HTTPFields = [.contentType: "application/json"]
        let definition = #"{"source": {"urls": ["\#(url)"]}, "latest": 1, "tags": ["a"], "quietHours": "22:00-06:00"}"#
        _ = try await call(201, "PUT", "/subscriptions/set", json, definition)
        _ = try await call(200, "PUT", "/subscriptions/set", json, definition)
        _ = try await call(400, "PUT", "/subscriptions/set", json, "{}")
        try await poll {
            try await call(200, "GET", "/subscriptions/set", [:], "").json
        } until: {
            $0["wanted"] == 1
        }
        _ = try await call(200, "GET", "/subscriptions", [:], "")
        _ = try await call(200, "GET", "/subscriptions/set/items?limit=1", [:], "")
        _ = try await call(202, "POST", "/subscriptions/set/refresh", [:], "")
        _ = try await call(404, "POST", "/subscriptions/none/refresh", [:], "")
        _ = try await call(200, "DELETE", "/subscriptions/set?keep=true", [:], "")
        _ = try await call(404, "DELETE", "/subscriptions/set", [:], "")
    }

    /// Makes the calls of the outbox, with a port that refuses connections, so that changes wait.
    private func callOutbox(
        _ call: (Int, String, String, HTTPFields, String) async throws -> HTTPReply
    ) async throws {
        let port = try RefusingPort()
        let json: HTTPFields = [.contentType: "application/json"]
        let credential = #"{"origins": ["http://127.0.0.1:\#(port.number)"], "headers": {"Authorization": "Bearer x"}}"#
        _ = try await call(200, "PUT", "/credentials/key", json, credential)
        _ = try await call(
            412, "PUT", "/credentials/key", [.contentType: "application/json", .ifNoneMatch: "*"], credential)
        _ = try await call(200, "GET", "/credentials", [:], "")
        let waiting = "http://127.0.0.1:\(port.number)/x"
        func accept(_ body: String) async throws -> String {
            let text = #"{"url": "\#(waiting)", "base": "blind", "body": \#(body), "credential": "key", "expires": 60}"#
            return try #require(try await call(202, "POST", "/outbox", json, text)["Location"])
        }
        let first = try await accept("1")
        try await poll {
            try await call(200, "GET", first, [:], "").json
        } until: {
            $0["attempts"] == 1 && $0["state"] == "pending"
        }
        let second = try await accept("2")
        _ = try await call(200, "GET", "/outbox?state=pending,sending&url=\(waiting.percentEncoded)&limit=1", [:], "")
        _ = try await call(400, "GET", "/outbox?state=lost", [:], "")
        let ids = try [first, second].map { try #require($0.split(separator: "/").last) }
        _ = try await call(200, "POST", "/outbox/squash", json, #"{"changes": [\#(ids[0]), \#(ids[1])]}"#)
        _ = try await call(409, "POST", second + "/resolve", json, #"{"take": "ours"}"#)
        _ = try await call(409, "POST", first + "/retry", [:], "")
        _ = try await call(422, "POST", second + "/revert", [:], "")
        _ = try await call(409, "DELETE", first, [:], "")
        _ = try await call(404, "GET", "/outbox/1000", [:], "")
        _ = try await call(200, "DELETE", "/credentials/key", [:], "")
        _ = try await call(404, "DELETE", "/credentials/key", [:], "")
    }

    @Test("The uptime does not change when the wall clock is set forwards or back")
    func uptime() async throws {
        try await TestServer.with { (server) async throws in
            var last = 0.0
            for seconds in [-1_000_000, 2_000_000] {
                server.clock.advance(by: .seconds(seconds))
                let uptime = try #require(try await server.get("/stats").member("uptimeSeconds")?.doubleValue)
                #expect(uptime >= last && uptime < 1000)
                last = uptime
            }
        }
    }

    @Test("The metrics are Prometheus text: the help and the type of a metric family stand before the family's samples")
    func metrics() async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("note", [1])
            _ = try await server.get("/entries/note/content")
            _ = try await server.get("/entries/none/content")
            let text = try await server.get("/metrics").text
            var families: Set<String> = []
            for line in text.split(separator: "\n") {
                if line.hasPrefix("# ") {
                    families.insert(String(line.split(separator: " ")[2]))
                    continue
                }
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                let base = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map {
                    String(name.dropLast($0.count))
                }
                #expect(families.contains(name) || families.contains(base ?? ""), "\(line)")
                #expect(Double(line.split(separator: " ").last ?? "") != nil, "\(line)")
            }
            #expect(text.contains("larder_hits_total 1\n"))
            #expect(text.contains("larder_misses_total 1\n"))
            #expect(text.contains(#"larder_entries{kind="data"} 1"#))
            #expect(text.contains(#"larder_http_requests_total{route="putContent",status="200"} 1"#))
            let stats = try await server.get("/stats").json
            #expect(stats["hits"] == 1)
            #expect(stats["entries"] == 1)
        }
    }
}

extension HTTPField.Name {
    fileprivate static let larderTTL = Self("Larder-TTL")!
}
