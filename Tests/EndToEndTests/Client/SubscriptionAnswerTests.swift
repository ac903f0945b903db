import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A scripted server gives the answers, so that each state can occur.
@Suite("Answers of the server to the commands for subscriptions")
struct SubscriptionAnswerTests {
    private static func subscription(_ state: JSON, _ members: [JSON.Member] = []) -> JSON {
        .object(
            [
                .init("name", "news"), .init("state", state), .init("generation", 1), .init("wanted", 2),
                .init("held", 1), .init("definition", ["source": ["feed": "http://h/feed"]]),
            ] + members)
    }

    /// A server that accepts a subscription, and then answers with `end`.
    private func server(_ end: JSON) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let isStart = request.method != "GET"
            let json = isStart ? Self.subscription("pending", [.init("refreshing", true)]) : end
            try connection.respond(
                request.method == "POST" ? 202 : 200, fields: [.contentType: "application/json"], body: json.text)
        }
    }

    @Test("The exit status of a wait distinguishes a complete, an incomplete and a failed refresh")
    func exits() async throws {
        let missing: JSON = [["url": "http://h/1\u{1b}", "reason": "status 404", "since": .null]]
        let problem: JSON = ["reason": "status 500", "since": .null]
        let ends: [(JSON, Int32, String)] = [
            (Self.subscription("complete"), 0, ""),
            (
                Self.subscription("incomplete", [.init("missing", missing), .init("missingCount", 2)]), 3,
                "http://h/1\\u{1b}: status 404\n1 more resources are missing\n"
            ),
            (Self.subscription("pending", [.init("sourceProblem", problem)]), 1, "the source of news: status 500"),
            (Self.subscription("no-room"), 1, "news has no room"),
        ]
        for (end, status, words) in ends {
            let server = try server(end)
            defer { server.stop() }
            let larder = ClientCommands(server: server.url(""))
            for command in [["subscribe", "news", "--feed", "http://h/feed"], ["subscriptions", "refresh", "news"]] {
                let output = try await larder.run(command + ["--wait"])
                #expect(output.exit == .status(status), "\(command): \(output.errors)")
                #expect(words.isEmpty ? output.errors.isEmpty : output.errors.contains(words), "\(output.errors)")
                #expect(output.values["state"] == end["state"]?.stringValue)
                let json = try await larder.run(command + ["--wait", "--json"])
                #expect(try json.exit == .status(status) && json.json == end)
                // Without the wait, the start of the refresh is the result.
                let started = try await larder.run(command)
                #expect(started.exit == .status(0) && started.values["refreshing"] == "yes", "\(started.errors)")
            }
        }
    }

    @Test("An unknown subscription, a server that is away and a token without the scope have their exit statuses")
    func failures() async throws {
        let status = Locked(404)
        let server = try ScriptedOrigin { _, connection in
            let status = status.withLock(\.self)
            let problem: JSON = ["title": "x", "status": .number(status), "detail": "no\u{1b}"]
            try connection.respond(status, fields: [.contentType: "application/problem+json"], body: problem.text)
        }
        defer { server.stop() }
        let larder = ClientCommands(server: server.url(""))
        let down = ClientCommands(server: try RefusingPort().url(""))
        let commands = [
            ["subscribe", "news", "--feed", "http://h/feed", "--wait"], ["subscriptions"],
            ["subscriptions", "show", "news"], ["subscriptions", "items", "news"],
            ["subscriptions", "refresh", "news", "--wait"], ["subscriptions", "remove", "news"],
        ]
        for (answer, expected) in [(404, 4), (403, 77), (422, 64), (503, 75), (507, 1)] as [(Int, Int32)] {
            status.withLock { $0 = answer }
            for command in commands {
                let output = try await larder.run(command)
                #expect(output.exit == .status(expected) && output.errors == "Error: no\\u{1b}\n", "\(command)")
            }
        }
        for command in commands { #expect(try await down.run(command).exit == .status(69), "\(command)") }
        #expect(try await larder.run(["subscribe", "news", "--file", "/none"]).exit == .status(66))
        #expect(try await larder.run(["subscribe", "news", "--file", "-"], input: [0x7b]).exit == .status(64))
    }

    @Test("On a terminal, a wait shows held and wanted resources, and the missing ones are a table")
    func terminal() async throws {
        let gate = Gate("the end of the refresh")
        let missing: JSON = [["url": "http://h/1\u{1b}]0;x\u{7}", "reason": "status 404", "since": .null]]
        let server = try ScriptedOrigin { request, connection in
            let isOver = request.method == "GET" && gate.isOpen
            let members: [JSON.Member] =
                isOver ? [.init("missing", missing), .init("missingCount", 1)] : [.init("refreshing", true)]
            let json = Self.subscription(isOver ? "incomplete" : "pending", members)
            try connection.respond(fields: [.contentType: "application/json"], body: json.text)
        }
        defer { server.stop() }
        let larder = ClientCommands(server: server.url(""))
        let terminal = try PseudoTerminal(columns: 60)
        let run = try larder.start(["subscribe", "news", "--feed", "http://h/feed", "--wait"], terminal: terminal)
        terminal.release()
        try await server.waitForRequests(3)
        gate.open()
        #expect(try await run.process.wait() == .status(3))
        let text = try await terminal.outputToEnd()
        #expect(text.contains("news  [") && text.contains("1 of 2"), "\(text)")
        #expect(text.contains("http://h/1\\u{1b}]0;x\\u{7}: status 404"), "\(text)")
        let shown = try PseudoTerminal(columns: 60)
        let show = try larder.start(["subscriptions", "show", "news"], terminal: shown)
        shown.release()
        #expect(try await show.process.wait() == .status(0))
        let table = try await shown.outputToEnd()
        #expect(table.contains("MISSING") && table.contains("source      feed http://h/feed"), "\(table)")
        #expect(!table.unicodeScalars.contains("\u{1b}"))
    }
}
