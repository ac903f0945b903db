import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The problems that bad input gets")
struct BadInputTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var method = "POST"
        var path = "/download"
        var type: String? = "application/json"
        var body = ""
        var status = 400
        var pointer: String?

        var testDescription: String { "\(method) \(path) \(body.prefix(60)) → \(status)" }

        static func download(_ body: String, pointer: String?, status: Int = 400) -> Case {
            Case(body: body, status: status, pointer: pointer)
        }

        /// A download with fields for the origin. Each field has a name, and a value of the given length.
        static func headers(_ fields: [(name: String, length: Int)]) -> Case {
            let members = fields.map {
                JSON.Member($0.name, .string(String(repeating: "a", count: $0.length)))
            }
            let body: JSON = ["url": "http://h.example/", "headers": .object(members)]
            return .download(body.text, pointer: "/headers")
        }

        static func url(_ url: String, status: Int = 400) -> Case {
            .download(JSON.object([.init("url", .string(url))]).text, pointer: "/url", status: status)
        }

        static func get(_ path: String, _ status: Int, pointer: String? = nil) -> Case {
            Case(method: "GET", path: path, type: nil, status: status, pointer: pointer)
        }
    }

    static let bodies: [Case] = [
        .download("", pointer: ""), .download("{", pointer: ""), .download("[]", pointer: ""),
        .download("\"x\"", pointer: ""), .download("{} {}", pointer: ""), .download("{}", pointer: "/url"),
        .download(#"{"url": 1}"#, pointer: "/url"), .download(#"{"url": null}"#, pointer: "/url"),
        .download(#"{"url": "http://h.example/", "URL": 1}"#, pointer: "/URL"),
        .download(#"{"url": "http://h.example/", "a/b~c": 1}"#, pointer: "/a~1b~0c"),
        .download(#"{"url": "http://h.example/", "url": "x"}"#, pointer: ""),
        .download(#"{"url": "http://h.example/", "ttl": -1}"#, pointer: "/ttl"),
        .download(#"{"url": "http://h.example/", "ttl": NaN}"#, pointer: ""),
        .download(#"{"url": "http://h.example/", "ttl": "soon"}"#, pointer: "/ttl"),
        .download(#"{"url": "http://h.example/", "ttl": 1e300}"#, pointer: "/ttl"),
        .download(#"{"url": "http://h.example/", "ttl": 1e999}"#, pointer: "/ttl"),
        .download(#"{"url": "http://h.example/", "ttl": null}"#, pointer: "/ttl"),
        .download(#"{"url": "http://h.example/", "staleIfError": -1}"#, pointer: "/staleIfError"),
        .download(#"{"url": "http://h.example/", "updateExpiry": 1}"#, pointer: "/updateExpiry"),
        .download(#"{"url": "http://h.example/", "tags": "a"}"#, pointer: "/tags"),
        .download(#"{"url": "http://h.example/", "tags": [1]}"#, pointer: "/tags"),
        .download(#"{"url": "http://h.example/", "tags": ["a,b"]}"#, pointer: "/tags"),
        .download(#"{"url": "http://h.example/", "pinned": "yes"}"#, pointer: "/pinned"),
        .download(#"{"url": "http://h.example/", "params": []}"#, pointer: "/params"),
        .download(#"{"url": "http://h.example/", "params": {"a": null}}"#, pointer: "/params/a"),
        .download(#"{"url": "http://h.example/", "params": {"a": {"b": 1}}}"#, pointer: "/params/a"),
        .download(#"{"url": "http://h.example/", "params": {"a": [1, [2]]}}"#, pointer: "/params/a/1"),
        .download(#"{"url": "http://h.example/", "headers": {"Range": "bytes=0-1"}}"#, pointer: "/headers/Range"),
        .download(#"{"url": "http://h.example/", "headers": {"Host": "x"}}"#, pointer: "/headers/Host"),
        .download(#"{"url": "http://h.example/", "headers": {"a b": "x"}}"#, pointer: "/headers/a b"),
        .download(#"{"url": "http://h.example/", "headers": {"X": "a\r\nY: b"}}"#, pointer: "/headers/X"),
        .download(#"{"url": "http://h.example/", "headers": {"X": "a", "x": "b"}}"#, pointer: "/headers/x"),
        .headers((0..<65).map { ("X-\($0)", 1) }),
        // Before the number of fields had a limit, this request occupied a thread for minutes.
        .headers((0..<50_000).map { ("X-\($0)", 1) }), .headers([("X", 16 << 10)]),
        .download(String(repeating: "[", count: 100_000), pointer: ""),
        Case(type: "text/plain", body: "{}", status: 415),
        Case(type: "application/xml", body: "{}", status: 415),
        Case(type: "application/x-www-form-urlencoded", body: "ttl=20", pointer: "/url"),
        Case(type: "application/x-www-form-urlencoded", body: "url=http://h.example/&ttl=x", pointer: "/ttl"),
        Case(type: "application/x-www-form-urlencoded", body: "url=%zz"),
        Case(type: "application/x-www-form-urlencoded", body: "url=a&url=b", pointer: "/url"),
        Case(path: "/downloads", body: "1", pointer: ""), Case(path: "/downloads", body: "[1", pointer: ""),
        Case(path: "/download?x=1", body: "{}", pointer: "/x"),
        Case(path: "/download", body: String(repeating: " ", count: (1 << 20) + 1), status: 413),
    ]

    static let urls: [Case] = [
        .url(""), .url("/relative"), .url("example.com"), .url("localhost:8080/x"), .url("//example.com/"),
        .url("file:///etc/passwd"), .url("gopher://h/"), .url("javascript:alert(1)"), .url("http:///path"),
        .url("http://"), .url("http:/h"), .url("http://user@h.example/"), .url("http://user:pw@h.example/"),
        .url("http://h.example:99999/"), .url("http://h.example:x/"), .url("http://h.example/%zz"),
        .url("http://h.example/%"), .url("http://h.example/?q=%4"), .url("http://h.example/a b"),
        .url("http://h.example/\n"), .url("http://h.example/\u{0}"), .url("http://h.example/\u{7f}"),
        .url("http://h.example/" + String(repeating: "a", count: 8192)), .url("http://[::1/"),
        .url("http://h.example\\@evil.example/"), .url("http://a%00b/"), .url("ftp://h.example/", status: 403),
    ]

    static let paths: [Case] = [
        .get("/nothing", 404), .get("/entries/none", 404), .get("/entries/none/content", 404),
        .get("/downloads/none", 404), .get("/downloads?limit=0", 400, pointer: "/limit"),
        .get("/entries/%zz", 400, pointer: "/key"),
        .get("/entries?cursor=nonsense", 400, pointer: "/cursor"), .get("/entries?limit=0", 400, pointer: "/limit"),
        .get("/entries?limit=1001", 400, pointer: "/limit"), .get("/entries?limit=x", 400, pointer: "/limit"),
        .get("/entries?sort=size", 400, pointer: "/sort"), .get("/entries?state=old", 400, pointer: "/state"),
        .get("/entries?kind=resource", 400, pointer: "/kind"), .get("/entries?colour=red", 400, pointer: "/colour"),
        .get("/entries?tag=a&tag=b&prefix=", 400, pointer: "/tag"), .get("/entries?prefix=", 400, pointer: "/prefix"),
        .get("/entries?params=%7B%7D", 400, pointer: "/params"), .get("/entries?url=x", 400, pointer: "/url"),
        .get("/entries/none/content?stale=maybe", 400, pointer: "/stale"), .get("/json", 400, pointer: "/url"),
        .get("/json?url=http://h.example/&params=%5B%5D", 400, pointer: "/params"),
        .get("/json?url=http://h.example/&params=nonsense", 400, pointer: "/params"),
        .get("/json?url=http://h.example/", 404), .get("/stats?x=1", 400, pointer: "/x"),
        .get("/stats?a%2Fb~%0A=1", 400, pointer: "/a~1b~0\n"),
        Case(method: "PUT", path: "/entries/a%2Fb/content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/../content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/%2e%2e/content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/a%00b/content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/\(String(repeating: "k", count: 256))/content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/0123456789abcdef0123456789abcdef/content", body: "x", pointer: "/key"),
        Case(method: "PUT", path: "/entries/k/content?ttl=-1", body: "x", pointer: "/ttl"),
        Case(method: "PUT", path: "/entries/k/content?ttl=nan", body: "x", pointer: "/ttl"),
        Case(method: "PUT", path: "/entries/k/content?ttl=0x10", body: "x", pointer: "/ttl"),
        Case(method: "PUT", path: "/entries/k/content?pinned=1", body: "x", pointer: "/pinned"),
        Case(method: "PUT", path: "/json?url=http://h.example/", type: "text/plain", body: "[1]", status: 415),
        Case(method: "PUT", path: "/json?url=http://h.example/", body: "[1", status: 400),
        Case(method: "PATCH", path: "/entries/k", body: #"{"ttl": -1}"#, pointer: "/ttl"),
        Case(method: "PATCH", path: "/entries/k", body: #"{"key": "x"}"#, pointer: "/key"),
        Case(method: "PATCH", path: "/entries/k", body: "[]", pointer: ""),
        Case(method: "DELETE", path: "/entries", type: nil, pointer: "/all"),
    ]

    @Test("A request with an invalid body gets a problem that names the field, and stores no entry", arguments: bodies)
    func body(_ bad: Case) async throws { try await check(bad) }

    @Test("A request with an invalid URL gets a problem that names the field, and stores no entry", arguments: urls)
    func url(_ bad: Case) async throws { try await check(bad) }

    @Test(
        "A request with an invalid path, query or key gets a problem that names the invalid part, and stores no entry",
        arguments: paths)
    func path(_ bad: Case) async throws { try await check(bad) }

    private func check(_ bad: Case) async throws {
        try await Self.server.with { (server) async throws in
            var fields = HTTPFields()
            fields[.contentType] = bad.type
            let reply = try await server.client.request(bad.method, bad.path, fields: fields, text: bad.body)
            #expect(reply.status == bad.status, "\(reply.text)")
            #expect(reply["Content-Type"] == "application/problem+json")
            let problem = try reply.json
            #expect(problem["status"] == .number(bad.status))
            #expect(problem["detail"]?.stringValue?.isEmpty == false)
            if let pointer = bad.pointer { #expect(problem["pointer"] == .string(pointer), "\(reply.text)") }
            #expect(server.space.cache.totals.entries == 0)
        }
    }

    /// All cases of the table share one server, because no case changes the server's state.
    private static let server = SharedServer()

    @Test(
        "The error for an almost correct request names the correct form",
        arguments: [
            ("GET", "/entries/", "use /entries;"), ("POST", "/download/", "use /download;"),
            ("PUT", "/entries/photo.jpg", "PUT /entries/photo.jpg/content"), ("GET", "/fetch/", "the URL is missing"),
        ])
    func hints(method: String, target: String, hint: String) async throws {
        try await TestServer.with { (server) async throws in
            let reply = try await HTTPClient(port: server.api.port).request(method, target)
            #expect([404, 405].contains(reply.status))
            #expect(reply.text.contains(hint), "\(reply.text)")
        }
    }

    @Test("A request with a wrong method gets 405 and the list of allowed methods")
    func methods() async throws {
        try await Self.server.with { (server) async throws in
            for (method, path, allowed) in [
                ("GET", "/download", "POST"), ("POST", "/entries", "GET, HEAD, DELETE"),
                ("PUT", "/stats", "GET, HEAD"), ("BREW", "/entries/k/content", "GET, HEAD, PUT"),
            ] {
                let reply = try await server.client.request(method, path)
                #expect(reply.status == 405)
                let allow = Set((reply["Allow"] ?? "").split(separator: ", ").map(String.init))
                #expect(allow == Set(allowed.split(separator: ", ").map(String.init)), "\(method) \(path)")
            }
        }
    }

    @Test(
        "A body of ambiguous length gets 400, and the bytes behind it are not read as a request (RFC 9112 §6.3)",
        arguments: [
            "Content-Length: 2\r\nContent-Length: 40", "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Content-Length : 40", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity",
        ])
    func ambiguousLength(fields: String) async throws {
        try await Self.server.with { (server) async throws in
            let (status, rest) = try await server.client.withConnection { connection in
                try connection.send("PUT /entries/k/content?ttl=0 HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n")
                try connection.send("{}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                connection.finishSending()
                let reply = try connection.readReply()
                return (reply.status, try? connection.readToEnd())
            }
            #expect(status == 400)
            #expect((rest ?? []).isEmpty)
        }
    }

    @Test("The error for a very long value quotes only the value's beginning and the value's end")
    func longValue() async throws {
        try await Self.server.with { (server) async throws in
            let digits = String(repeating: "7", count: 100_000)
            let reply = try await server.client.request(
                "POST", "/download", fields: [.contentType: "application/json"],
                text: #"{"url": "http://h.example/", "ttl": \#(digits)}"#)
            #expect(reply.status == 400)
            #expect(try reply.member("pointer") == "/ttl")
            let detail = try #require(try reply.member("detail")?.stringValue)
            #expect(detail.hasPrefix("\"777") && detail.contains("777 … 777"))
            #expect(detail.contains("\" is not a duration; expected seconds"))
            #expect(detail.utf8.count < 1600)
        }
    }

    @Test("A request for an unknown namespace gets 404, and a request with two Larder-Namespace fields gets 400")
    func namespaces() async throws {
        try await Self.server.with { (server) async throws in
            let name = HTTPField.Name("Larder-Namespace")!
            #expect(try await server.get("/entries", fields: [name: "default"]).status == 200)
            #expect(try await server.get("/entries", fields: [name: "other"]).status == 404)
            #expect(try await server.get("/entries", fields: [name: "../x"]).status == 404)
            #expect(try await server.get("/entries", fields: [name: ""]).status == 404)
            let twice: HTTPFields = [name: "default", name: "other"]
            #expect(try await server.get("/entries", fields: twice).status == 400)
        }
    }
}

/// A server that all cases of a table share. The server ends with the process.
private actor SharedServer {
    private var server: TestServer?

    func with(_ body: (TestServer) async throws -> Void) async throws {
        if server == nil { server = try TestServer() }
        try await body(server!)
    }
}
