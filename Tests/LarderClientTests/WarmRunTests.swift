import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The run of a warm list")
struct WarmRunTests {
    private func list(_ count: Int) -> WarmList {
        WarmList(Array((0..<count).map { "http://h/\($0) \($0)\n" }.joined().utf8))
    }

    /// The requests of a batch.
    private static func requests(_ request: ScriptedOrigin.Request) throws -> [JSON] {
        try request.body.split(separator: 0x0a).map { try JSON(parsing: Array($0)) }
    }

    private static func line(_ index: Int, _ request: JSON, outcome: String = "downloaded") -> String {
        let entry = entryJSON(url: request["url"]?.stringValue ?? "")
        let line: JSON = ["index": .number(index), "outcome": .string(outcome), "entry": entry]
        return line.text + "\n"
    }

    @Test("Each line of a long list is requested once with its own ttl, and its result is reported once")
    func batches() async throws {
        let server = try ScriptedOrigin { request, connection in
            let lines = try Self.requests(request)
            // The server answers in the order in which downloads end, here in reverse.
            let answer = lines.indices.reversed().map { Self.line($0, lines[$0]) }.joined()
            try connection.respond(fields: [.contentType: "application/x-ndjson"], body: answer)
        }
        defer { server.stop() }
        let ends = Recorder<WarmRun.End>()
        var options = DownloadOptions()
        options.ttl = Seconds("9")
        options.tags = ["t"]
        let items = list(1234).items
        try await WarmRun(items, options: options, client: try APIClient.of(server)) { ends.append($0) }.run()
        #expect(Set(ends.elements.map(\.item)) == Set(items))
        #expect(ends.elements.count == items.count)
        let asked = try server.requests.flatMap(Self.requests)
        #expect(server.requestCount == 3)
        #expect(server.requests.allSatisfy { $0["Content-Type"] == "application/x-ndjson" })
        for request in asked {
            let number = request["ttl"]?.text ?? "none"
            #expect(request["tags"] == ["t"] && request["url"] == .string("http://h/\(number)"))
        }
        #expect(ends.elements[0].json["url"] == .string(ends.elements[0].item.url))
    }

    @Test("If the requests of a warm run are long, each batch holds fewer, so that its body fits the server's limit")
    func longRequests() async throws {
        let server = try ScriptedOrigin { request, connection in
            let lines = try Self.requests(request)
            let answer = lines.indices.map { Self.line($0, lines[$0]) }.joined()
            try connection.respond(fields: [.contentType: "application/x-ndjson"], body: answer)
        }
        defer { server.stop() }
        let ends = Recorder<WarmRun.End>()
        var options = DownloadOptions()
        options.tags = [String(repeating: "t", count: 20_000)]
        let items = list(500).items
        try await WarmRun(items, options: options, client: try APIClient.of(server)) { ends.append($0) }.run()
        #expect(Set(ends.elements.map(\.item)) == Set(items) && ends.elements.count == items.count)
        // 500 of the requests are 10 MB, and DownloadRoutes accepts 8 MiB.
        #expect(server.requests.allSatisfy { $0.body.count <= 8 << 20 })
        #expect(server.requestCount == 2)
    }

    @Test("The tally counts each outcome, and only the bytes that came from origins")
    func tally() async throws {
        let server = try ScriptedOrigin { request, connection in
            let lines = try Self.requests(request)
            let outcomes = ["downloaded", "cached", "joined", "revalidated", "stale"]
            var answer = outcomes.indices.map { Self.line($0, lines[$0], outcome: outcomes[$0]) }.joined()
            answer += #"{"index": 5, "error": {"status": 502, "detail": "the origin answered with status 404"}}"# + "\n"
            try connection.respond(fields: [.contentType: "application/x-ndjson"], body: answer)
        }
        defer { server.stop() }
        let tally = Locked(WarmTally(total: 7, failed: 1))
        let client = try APIClient.of(server)
        try await WarmRun(list(6).items, options: DownloadOptions(), client: client) { end in
            tally.withLock { $0.add(end) }
        }.run()
        let result = tally.withLock { $0 }
        #expect(Outcome.allCases.allSatisfy { result.outcomes[$0] == 1 })
        #expect(result.failed == 2 && result.ended == 7 && result.asked == 6)
        #expect(result.bytes == 6)
    }

    @Test("A batch that is refused with 429 or 503 is sent again after its Retry-After")
    func tooMuch() async throws {
        let server = try ScriptedOrigin { request, connection in
            let problem: JSON = ["status": .number(request.index == 0 ? 429 : 503), "detail": "too much"]
            guard request.index > 1 else {
                return try connection.respond(
                    request.index == 0 ? 429 : 503, json: problem, fields: [.retryAfter: "0"])
            }
            try connection.respond(body: Self.line(0, try Self.requests(request)[0]))
        }
        defer { server.stop() }
        let ends = Recorder<WarmRun.End>()
        let client = try APIClient.of(server)
        try await WarmRun(list(1).items, options: DownloadOptions(), client: client) { ends.append($0) }.run()
        #expect(ends.elements.count == 1 && server.requestCount == 3)
    }

    @Test(
        "An answer that breaks the API or ends too early is an error",
        arguments: [
            "", "{}\n", "{\"index\": 1}\n", "{\"index\": 0}\n", "nonsense\n", "{\"index\": 0, \"outcome\": \"x\"}\n",
        ])
    func foreignAnswers(body: String) async throws {
        let server = try ScriptedOrigin { _, connection in try connection.respond(body: body) }
        defer { server.stop() }
        let client = try APIClient.of(server)
        await #expect(throws: ClientError.self) {
            try await WarmRun(list(1).items, options: DownloadOptions(), client: client) { _ in }.run()
        }
    }

    @Test("An answer with a line that never ends is refused before it fills the memory")
    func endlessLine() async throws {
        let server = try ScriptedOrigin.endless(String(repeating: "x", count: 1 << 20))
        defer { server.stop() }
        let client = try APIClient.of(server)
        let error = await #expect(throws: ClientError.self) {
            try await WarmRun(list(1).items, options: DownloadOptions(), client: client) { _ in }.run()
        }
        let isUnexpected = if case .unexpected? = error { true } else { false }
        #expect(isUnexpected, "\(String(describing: error))")
    }

    @Test("A run ends when the server disconnects, and the earlier results have been reported")
    func serverGone() async throws {
        let server = try ScriptedOrigin { request, connection in
            let lines = try Self.requests(request)
            try connection.startChunks()
            try connection.sendChunk(Self.line(0, lines[0]))
            connection.close()
        }
        defer { server.stop() }
        let ends = Recorder<WarmRun.End>()
        let client = try APIClient.of(server)
        let error = await #expect(throws: ClientError.self) {
            try await WarmRun(list(2).items, options: DownloadOptions(), client: client) { ends.append($0) }.run()
        }
        let isBroken = if case .broken? = error { true } else { false }
        #expect(isBroken, "\(String(describing: error))")
        #expect(ends.elements.map(\.item.line) == [1])
    }
}
