import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("The lines of the log")
struct LogTests {
    private func download(_ larder: LarderProcess, _ url: String, namespace: String = "default") async throws -> Int {
        let fields: HTTPFields = [
            .contentType: "application/json", HTTPField.Name("Larder-Namespace")!: namespace,
        ]
        let body = JSON.object([.init("url", .string(url))]).utf8
        return try await larder.client.request("POST", "/download", fields: fields, body: body).status
    }

    @Test("A failed download logs one warning with URL, cause and no secret; a cached or cancelled download logs none")
    func failedDownload() async throws {
        let gate = Gate("the origin's answer")
        let origin = try ScriptedOrigin { request, connection in
            switch request.target.prefix(while: { $0 != "?" }) {
            case "/good": try connection.respond(body: "x")
            case "/held": try gate.waitBlocking()
            case "/broken": connection.close()
            default: try connection.respond(503)
            }
        }
        defer {
            gate.open()
            origin.stop()
        }
        let refusing = try RefusingPort()
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let space = try await larder.client.request(
            "PUT", "/namespaces/a", fields: [.contentType: "application/json"], text: "{}")
        #expect(space.status == 200)
        let urls = ["/busy?key=secret", "/broken"].map { origin.url($0) } + [refusing.url("/")]
        for url in urls { #expect(try await download(larder, url, namespace: "a") == 502, "\(url)") }
        #expect(try await download(larder, "http://10.0.0.1/refused?key=secret") == 403)
        #expect(try await download(larder, origin.url("/good")) == 200)
        #expect(try await download(larder, origin.url("/good")) == 200)
        async let cancelled = download(larder, origin.url("/held"))
        try await poll("the request to the origin") { origin.requests.contains { $0.target == "/held" } }
        let held = md5(origin.url("/held"))
        #expect(try await larder.client.request("DELETE", "/downloads/\(held)").status == 200)
        #expect(try await cancelled == 502)
        #expect(try await larder.stop() == .status(0))

        let lines = larder.logLines("download failed")
        #expect(lines.allSatisfy { $0["level"] == "warning" })
        #expect(
            lines.map { $0["url"]?.stringValue } == [
                origin.url("/busy?…"), origin.url("/broken"), refusing.url("/"), "http://10.0.0.1/refused?…",
            ])
        #expect(lines.map { $0["namespace"] } == ["a", "a", "a", nil])
        #expect(lines.map { $0["key"]?.stringValue }.first == md5(urls[0]))
        #expect(lines[0]["reason"] == "the origin answered with status 503" && lines[0]["originStatus"] == 503)
        #expect(lines[2]["curlCode"] == 7 && lines[2]["reason"]?.stringValue?.contains("connect") == true)
        #expect(lines[3]["reason"]?.stringValue?.contains("--allow-origin") == true)
        #expect(lines.allSatisfy { if case .number = $0["seconds"] { true } else { false } })
        #expect(!larder.process.output.contains("secret"))
    }

    @Test("The pause of a host leaves one line, and the downloads that it refuses leave none")
    func pause() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(503, fields: [.retryAfter: "3600"])
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        for target in ["/a", "/b", "/c"] { #expect(try await download(larder, origin.url(target)) == 503) }
        #expect(try await larder.stop() == .status(0))
        let pauses = larder.logLines("a host asked for a pause")
        #expect(pauses.map { $0["host"] } == [.string("http://127.0.0.1:\(origin.port)")])
        #expect(pauses.first?["level"] == "info" && pauses.first?["until"]?.date != nil)
        #expect(larder.logLines("download failed").map { $0["url"] } == [.string(origin.url("/a"))])
        #expect(origin.requestCount == 1)
    }

    @Test("A failed download for which no caller waits any longer also logs a warning")
    func failedInBackground() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(500) }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let fields: HTTPFields = [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async"]
        let body = JSON.object([.init("url", .string(origin.url("/a")))]).utf8
        #expect(try await larder.client.request("POST", "/download", fields: fields, body: body).status == 202)
        try await poll("the warning") { larder.logLines("download failed").count == 1 }
        _ = try await larder.stop()
    }

    @Test("A log line in JSON has numbers as JSON numbers, and a log line as text has the same values")
    func numbers() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--log-level", "debug", "--drain-delay", "0.25"])
        #expect(try await larder.client.request("PUT", "/entries/a/content", text: "abc").status == 200)
        #expect(try await larder.client.request("DELETE", "/entries/a").status == 200)
        larder.process.kill(SIGUSR1)
        try await poll("the log line about SIGUSR1") { !larder.logLines("memory was released").isEmpty }
        #expect(try await larder.stop() == .status(0))
        #expect(larder.logLines("change").map { $0["count"] } == [1, 1])
        #expect(larder.logLines("request").map { $0["status"] } == [200, 200])
        #expect(larder.logLines("draining").first?["delay"] == .number("0.25"))
        for (message, name) in [("request", "milliseconds"), ("memory was released", "bytes")] {
            let line = try #require(larder.logLines(message).first)
            guard case .number = line[name] else {
                Issue.record("\(line)")
                continue
            }
        }
        let people = try ChildProcess(
            LarderProcess.executable,
            ["serve", "--port", "0", "--directory", directory.path("cache"), "--log-format", "text"],
            environment: ["LARDER_CONFIG": nil, "LARDER_DRAIN_DELAY": "0.25"])
        try await poll("the line listening") { people.output.contains("listening") && people.output.hasSuffix("\n") }
        people.kill(SIGTERM)
        #expect(try await people.wait() == .status(0))
        #expect(people.output.contains(" draining delay=0.25\n"), "\(people.output)")
    }

    @Test("A server at an IPv6 address is reachable; the log, larder check and errors show its URL with brackets")
    func addresses() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--host", "::1", "--admin-port", "0"])
        #expect(larder.logLines("listening").first?["url"] == .string("http://[::1]:\(larder.port)"))
        try await poll("the port for probes") { larder.logLines("probes and metrics").count == 1 }
        let metrics = try #require(larder.logLines("probes and metrics").first?["url"]?.stringValue)
        #expect(metrics.hasPrefix("http://[::1]:") && metrics.hasSuffix("/metrics"))
        let check = try await blocking {
            try ChildProcess.run(LarderProcess.executable, ["check", "--host", "::", "--port", "\(larder.port)"])
        }
        #expect(check.exit == .status(0) && check.text == "http://[::1]:\(larder.port) is ready\n", "\(check.text)")
        let other = try TemporaryDirectory()
        let taken = try await blocking {
            try ChildProcess.run(
                LarderProcess.executable,
                ["serve", "--host", "::1", "--port", "\(larder.port)", "--directory", other.path("cache")])
        }
        #expect(taken.text.contains("[::1]:\(larder.port) is in use"), "\(taken.text)")
        #expect(try await larder.stop() == .status(0))
    }
}
