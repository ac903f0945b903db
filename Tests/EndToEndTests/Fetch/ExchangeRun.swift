import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Performs the rows of a table in their order, with one origin and one Larder.
final class ExchangeRun: Sendable {
    private let origin: ScriptedOrigin
    private let server: TestServer
    private let script: Script

    /// The origin's next answer.
    private final class Script: Sendable {
        let next = Locked(Exchange.Answer())
    }

    private init(_ origin: ScriptedOrigin, _ server: TestServer, _ script: Script) {
        (self.origin, self.server, self.script) = (origin, server, script)
    }

    static func perform(_ rows: [Exchange]) async throws {
        let script = Script()
        let origin = try ScriptedOrigin { request, connection in
            let answer = script.next.withLock { $0 }
            if answer.isLost { return connection.close() }
            let path = String(request.target.prefix { $0 != "~" })
            let url = "http://\(request["Host"] ?? "")\(path)"
            let fields = HTTPFields(
                lines: answer.lines.map { $0.replacing("{path}", with: path).replacing("{url}", with: url) }
            )
            try connection.respond(
                answer.status, fields: fields, body: answer.body ?? "body \(request.index + 1)")
        }
        defer { origin.stop() }
        try await TestServer.with(clock: ManualClock(ExchangeTable.start)) { (server) async throws in
            let run = ExchangeRun(origin, server, script)
            for (number, row) in rows.enumerated() { try await run.perform(row, number: number) }
        }
    }

    private func perform(_ row: Exchange, number: Int) async throws {
        server.clock.set(ExchangeTable.start)
        origin.forgetRequests()
        let url = origin.url("/\(number)")
        _ = try await send(row.asked, to: url, whichAnswers: row.first)
        for step in row.meanwhile {
            server.clock.advance(by: .seconds(step.seconds))
            _ = try await send(step.ask, to: url, whichAnswers: step.answer)
        }
        server.clock.advance(by: .seconds(row.seconds))
        let asked = origin.requestCount
        for time in 1...row.outcome.times {
            let reply = try await send(row.then, to: url, whichAnswers: row.second)
            let verdict = ExchangeVerdict(row: row, reply: reply, requests: origin.requests, asked: asked)
            for complaint in verdict.complaints {
                Issue.record(
                    "\(row.name), asked \(time) times\n\(complaint)\n\(reply.head)\(reply.text)",
                    sourceLocation: row.sourceLocation)
            }
        }
    }

    /// Sends a request. Returns its answer after its fetch has ended and the cache has written the result.
    private func send(_ ask: Exchange.Ask, to url: String, whichAnswers next: Exchange.Answer)
        async throws -> HTTPReply
    {
        script.next.withLock { $0 = next }
        let reply = try await HTTPClient(port: server.api.port).request(
            ask.method, "/fetch/" + url + (ask.suffix.isEmpty ? "" : "~" + ask.suffix),
            fields: HTTPFields(lines: ask.lines), body: Array(ask.body.utf8))
        try await poll("the end of the fetch", every: .milliseconds(1)) {
            server.space.gateway.fetchCount == 0
        }
        try await server.space.cache.flush()
        return reply
    }
}

extension HTTPFields {
    /// Parses the field lines of a message.
    init(lines: [String]) {
        self.init()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            append(HTTPField(name: HTTPField.Name(String(parts[0]))!, value: String(parts[1].trimmingPrefix(" "))))
        }
    }
}

extension Exchange.Outcome {
    /// The number of times that the run sends the last request. An answer of the cache alone must stay the same: the
    /// cache gives it from the disk first, then from memory, and then as a ready answer.
    fileprivate var times: Int {
        switch self {
        case .hit, .stale, .notModified, .partial, .preconditionFailed: 4
        default: 1
        }
    }
}
