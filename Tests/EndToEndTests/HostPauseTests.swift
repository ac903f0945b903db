import HTTPTypes
import Primitives
import TestSupport
import Testing

/// `Retry-After` of an origin (RFC 9110 §10.2.3) counts for all downloads from the host.
@Suite("The pauses of hosts")
struct HostPauseTests {
    /// Answers `/busy` with the status and `Retry-After`, and every other target with the target.
    private func pausingOrigin(_ status: Int = 429, _ value: String = "60") throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if request.target == "/busy" {
                return try connection.respond(status, fields: [.retryAfter: value])
            }
            try connection.respond(body: request.target)
        }
    }

    private func explain(_ url: String, _ server: TestServer) async throws -> JSON {
        try await server.get("/explain?url=\(url.percentEncoded)").json
    }

    @Test(
        "After a 429 or 503 with Retry-After, downloads from the host get 503 without a request until the time is over",
        arguments: [(429, "60"), (503, "Thu, 01 Jan 2026 00:01:00 GMT")])
    func pause(status: Int, value: String) async throws {
        let (origin, other) = (try pausingOrigin(status, value), try pausingOrigin())
        defer {
            origin.stop()
            other.stop()
        }
        try await TestServer.with { (server) async throws in
            let hit: JSON = ["url": .string(origin.url("/hit")), "ttl": 3600]
            #expect(try await server.download(hit).status == 200)
            #expect(try await server.download(["url": .string(origin.url("/busy"))]).status == status)
            server.clock.advance(by: .milliseconds(20_500))

            let refused = try await server.download(["url": .string(origin.url("/a"))])
            #expect(refused.status == 503 && refused.fields[.retryAfter] == "40")
            #expect(try refused.member("retryAfter") == 40 && refused.member("originStatus") == nil)
            let detail = try #require(try refused.member("detail")?.stringValue)
            #expect(detail.contains("asked for a pause until 2026-01-01T00:01:00"))
            #expect(origin.requestCount == 2)
            #expect(try await server.download(hit).member("outcome") == "cached")
            #expect(try await server.download(["url": .string(other.url("/a"))]).status == 200)

            server.clock.advance(by: .milliseconds(39_499))
            #expect(try await server.download(["url": .string(origin.url("/a"))]).fields[.retryAfter] == "1")
            #expect(origin.requestCount == 2)
            server.clock.advance(by: .milliseconds(1))
            #expect(try await server.download(["url": .string(origin.url("/a"))]).member("outcome") == "downloaded")
            #expect(origin.requestCount == 3)
        }
    }

    @Test("A host pauses for at most a day")
    func longest() async throws {
        let origin = try pausingOrigin(503, "100000000")
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let busy = try await server.download(["url": .string(origin.url("/busy"))])
            #expect(busy.status == 503 && busy.fields[.retryAfter] == "100000000")
            #expect(try await server.download(["url": .string(origin.url("/a"))]).fields[.retryAfter] == "86400")
            server.clock.advance(by: .seconds(86_400))
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
        }
    }

    @Test("A Retry-After that does not fit into 64 bits pauses the host for a day, too")
    func tooLong() async throws {
        let origin = try pausingOrigin(503, "99999999999999999999")
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let busy = try await server.download(["url": .string(origin.url("/busy"))])
            #expect(busy.status == 503 && busy.fields[.retryAfter] == "2147483648")
            #expect(try await server.download(["url": .string(origin.url("/a"))]).fields[.retryAfter] == "86400")
            #expect(origin.requestCount == 1)
        }
    }

    @Test("Without Retry-After, with a time that is over, or with another status, no pause begins")
    func noPause() async throws {
        for (status, value) in [
            (429, nil), (503, "soon"), (503, "0"), (503, "Wed, 31 Dec 2025 00:00:00 GMT"), (500, "60"), (404, "60"),
        ] as [(Int, String?)] {
            let origin = try ScriptedOrigin { request, connection in
                var fields: HTTPFields = [:]
                fields[.retryAfter] = value
                try connection.respond(request.target == "/busy" ? status : 200, fields: fields, body: "x")
            }
            defer { origin.stop() }
            try await TestServer.with { (server) async throws in
                #expect(try await server.download(["url": .string(origin.url("/busy"))]).status != 200)
                #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200, "\(status)")
            }
        }
    }

    @Test("During a pause, staleIfError permits the stale entry; without it, and beyond it, the caller gets 503")
    func stale() async throws {
        let origin = try pausingOrigin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let lenient: JSON = ["url": .string(origin.url("/a")), "ttl": 10, "staleIfError": 30]
            let strict: JSON = ["url": .string(origin.url("/a")), "refresh": true]
            _ = try await server.download(lenient)
            _ = try await server.download(["url": .string(origin.url("/busy"))])
            server.clock.advance(by: .seconds(20))
            #expect(try await server.download(lenient).member("outcome") == "stale")
            #expect(try await server.download(strict).status == 503)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(lenient).status == 503)
            #expect(origin.requestCount == 2)
        }
    }

    @Test("In a batch, downloads that wait for their turn at a host are refused when the host asks for a pause")
    func batch() async throws {
        let (origin, other) = (
            try ScriptedOrigin { _, connection in try connection.respond(429, fields: [.retryAfter: "60"]) },
            try pausingOrigin()
        )
        defer {
            origin.stop()
            other.stop()
        }
        try await TestServer.with(configure: { $0.maxDownloadsPerHost = 1 }) { (server) async throws in
            let urls = (0..<20).map { origin.url("/\($0)") } + [other.url("/a")]
            let reply = try await server.client.request(
                "POST", "/downloads", fields: [.contentType: "application/json"],
                body: JSON.array(urls.map { ["url": .string($0)] }).utf8)
            let lines = try reply.text.split(separator: "\n").map { try JSON(parsing: String($0)) }
            #expect(lines.count == 21)
            let errors = lines.compactMap { $0["error"] }
            #expect(errors.count { $0["status"] == 429 && $0["originStatus"] == 429 } == 1)
            #expect(errors.count { $0["status"] == 503 && $0["retryAfter"] == 60 } == 19)
            #expect(lines.contains { $0["index"] == 20 && $0["outcome"] == "downloaded" })
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A download in the background fails during a pause, and its status and /explain tell the end of the pause")
    func background() async throws {
        let origin = try pausingOrigin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await explain(url, server)["pauseEndDate"] == .null)
            _ = try await server.download(["url": .string(origin.url("/busy"))])
            server.clock.advance(by: .seconds(20))
            let end = server.clock.now() + .seconds(40)
            let answer = try await explain(url, server)
            #expect(answer["reason"] == "absent" && answer["pauseEndDate"]?.date == end)
            #expect(answer["detail"]?.stringValue?.contains("the host asked for a pause until \(end.rfc3339)") == true)

            let reply = try await server.client.request(
                "POST", "/download",
                fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async"],
                body: JSON.object([.init("url", .string(url))]).utf8)
            #expect(reply.status == 202)
            try await poll("the end of the download") {
                server.space.downloads.status(of: md5(url))?.state == .failed
            }
            let problem = try await server.get("/downloads/\(md5(url))").member("problem")
            #expect(problem?["status"] == 503 && problem?["retryAfter"] == 40)
            #expect(problem?["detail"]?.stringValue?.contains(end.rfc3339) == true)
            #expect(origin.requestCount == 1)
            server.clock.advance(by: .seconds(40))
            #expect(try await explain(url, server)["pauseEndDate"] == .null)
        }
    }

    @Test("A redirect to a paused host is not followed, and the pause after a redirect is that of the host behind it")
    func redirect() async throws {
        let target = try pausingOrigin()
        let busy = target.url("/busy")
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/moved" else { return try connection.respond(body: "here") }
            try connection.respond(302, fields: [.location: busy])
        }
        defer {
            origin.stop()
            target.stop()
        }
        try await TestServer.with { (server) async throws in
            #expect(try await server.download(["url": .string(origin.url("/moved"))]).status == 429)
            #expect(try await server.download(["url": .string(target.url("/a"))]).status == 503)
            #expect(try await server.download(["url": .string(origin.url("/moved"))]).status == 503)
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
            #expect(target.requestCount == 1)
        }
    }

    @Test("The pause of a host holds only in the namespace that learned of it, and /explain shows it only there")
    func namespaces() async throws {
        let origin = try pausingOrigin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("other")
            let other = server.inNamespace("other")
            _ = try await server.download(["url": .string(origin.url("/busy"))])
            let body = JSON.object([.init("url", .string(origin.url("/a")))])
            let explained = "/explain?url=\(origin.url("/a").percentEncoded)"
            #expect(try await server.get(explained).member("pauseEndDate") != .null)
            #expect(try await other.get(explained).member("pauseEndDate") == .null)
            #expect(try await other.request("POST", "/download", text: body.text).status == 200)
            #expect(try await server.download(body).status == 503)
        }
    }

    @Test("The call /fetch sends its requests during a pause, and its answers begin no pause")
    func fetch() async throws {
        let origin = try pausingOrigin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await server.get("/fetch/\(origin.url("/busy"))").status == 429)
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
            _ = try await server.download(["url": .string(origin.url("/busy"))])
            #expect(try await server.get("/fetch/\(origin.url("/a"))").status == 200)
            #expect(origin.requests.map(\.target) == ["/busy", "/a", "/busy", "/a"])
        }
    }

    @Test("Refused downloads have a counter of their own, and are no failed transfers")
    func metrics() async throws {
        let origin = try pausingOrigin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for target in ["/busy", "/a", "/b"] { _ = try await server.download(["url": .string(origin.url(target))]) }
            let text = try await server.get("/metrics").text
            #expect(text.contains("\nlarder_paused_downloads_total 2\n"))
            #expect(text.contains("\nlarder_downloads_total{outcome=\"failed\"} 1\n"))
            #expect(text.contains("\nlarder_download_duration_seconds_count 1\n"))
        }
    }
}
