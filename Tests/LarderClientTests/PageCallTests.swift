import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The calls for pages")
struct PageCallTests {
    private func page(_ state: JSON, last: JSON? = nil) -> JSON {
        let members: [JSON.Member] = [.init("key", "k-page"), .init("url", "http://h/"), .init("state", state)]
        return .object(members + (last.map { [.init("lastCapture", $0)] } ?? []))
    }

    /// The end of a capture. The first call gets 202. `answers` are the answers to the next calls, and the last answer
    /// is repeated.
    private func capture(_ answers: [(status: Int, json: JSON)]) async throws -> (HeldPage, requests: Int) {
        let server = try ScriptedOrigin { request, connection in
            guard request.method == "GET" else { return try connection.respond(202, json: page("queued")) }
            let answer = answers[min(request.index - 1, answers.count - 1)]
            try connection.respond(answer.status, json: answer.json, fields: [.retryAfter: "0"])
        }
        defer { server.stop() }
        let client = try APIClient.of(server)
        let end = try await client.capture("http://h/", CaptureOptions(), waits: true, pollInterval: .zero)
        #expect(server.requests[0]["Prefer"] == "wait=300")
        #expect(server.requests.dropFirst().allSatisfy { $0.target == "/pages/k-page" })
        return (end, server.requestCount)
    }

    @Test("A capture that outlasts the wait of the server is polled to its end, also at the rate limit of the token")
    func polling() async throws {
        let running = page("fetching", last: ["state": "fetching"])
        let busy: JSON = ["title": "x", "status": 429, "detail": "too often"]
        let (end, requests) = try await capture([
            (200, running), (429, busy), (200, running), (200, page("complete", last: ["state": "complete"])),
        ])
        #expect(end.state == "complete" && requests == 5)
    }

    @Test("A polled capture that fails throws the problem of the capture, also if an earlier capture is stored")
    func failing() async throws {
        let problem: JSON = ["title": "x", "status": 504, "detail": "too slow"]
        let last: JSON = ["state": "failed", "problem": problem]
        for state in ["failed", "complete"] as [JSON] {
            let error = await #expect(throws: ClientError.self) {
                _ = try await capture([(200, page(state, last: last))])
            }
            #expect(error?.problem?.status == 504 && error?.description == "too slow")
        }
        await #expect(throws: ClientError.self) { _ = try await capture([(200, page("complete"))]) }
    }

    @Test("A capture without a wait returns at once, and sends only the options that are set")
    func options() async throws {
        let server = try ScriptedOrigin { _, connection in try connection.respond(202, json: page("queued")) }
        defer { server.stop() }
        let client = try APIClient.of(server)
        #expect(try await client.capture("http://h/", CaptureOptions(), waits: false).isRunning)
        var options = CaptureOptions()
        options.mode = "static"
        options.ttl = Seconds("7d")
        options.updateExpiry = true
        options.tags = ["a"]
        options.pinned = true
        options.html = "<p>"
        options.headers = [("Accept-Language", "en")]
        options.cookies = ["a=b"]
        options.maxSeconds = 5
        _ = try await client.capture("http://h/", options, waits: false)
        let requests = server.requests
        #expect(requests.count == 2 && requests[0]["Prefer"] == nil)
        #expect(try JSON(parsing: requests[0].body) == ["url": "http://h/"])
        let full: JSON = [
            "url": "http://h/", "mode": "static", "ttl": "7d", "updateExpiry": true, "tags": ["a"], "pinned": true,
            "headers": ["Accept-Language": "en"], "cookies": ["a=b"], "maxSeconds": 5, "html": "<p>",
        ]
        #expect(try JSON(parsing: requests[1].body) == full)
    }

    @Test("A list of pages continues after an empty part, with the same filters")
    func list() async throws {
        let server = try ScriptedOrigin { request, connection in
            switch request.index {
            case 0: try connection.respond(json: ["pages": [page("complete")], "nextCursor": "a b"])
            case 1: try connection.respond(json: ["pages": [], "nextCursor": "c"])
            default: try connection.respond(json: ["pages": [page("partial")]])
            }
        }
        defer { server.stop() }
        var states: [String] = []
        try await APIClient.of(server).pages(tag: "t", state: nil, text: "é") { states += $0.map(\.state) }
        #expect(states == ["complete", "partial"])
        let filters = "limit=1000&q=%C3%A9&tag=t"
        #expect(
            server.requests.map(\.target) == [
                "/pages?\(filters)", "/pages?cursor=a+b&\(filters)", "/pages?cursor=c&\(filters)",
            ])
    }

    @Test(
        "The address of a view keeps the path of a proxy, and may have been rewritten by the proxy",
        arguments: [
            ("http://h:1", "/pages/k/view/t/", "http://h:1/pages/k/view/t/"),
            ("http://h:1/larder", "/pages/k/view/t/", "http://h:1/larder/pages/k/view/t/"),
            ("http://h:1/larder", "/larder/pages/k/view/t/", "http://h:1/larder/pages/k/view/t/"),
            ("http://h:1/a/b", "/a/b/pages/k", "http://h:1/a/b/pages/k"),
            ("http://h:1", "https://h/pages/k/view/t/", "https://h/pages/k/view/t/"),
            ("http://h:1", "//other/", nil), ("http://h:1", "file:///etc/passwd", nil), ("http://h:1", "", nil),
            ("http://h:1", "javascript:alert(1)", nil), ("http://h:1", "-x", nil),
        ])
    func view(server: String, location: String, expected: String?) throws {
        #expect(try ServerAddress(server).resolve(location) == expected)
    }
}
