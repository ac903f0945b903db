import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The command larder warm")
struct WarmCommandTests {
    private func list(_ origin: ScriptedOrigin, _ count: Int) -> [UInt8] {
        Array((0..<count).map { origin.url("/\($0)") + "\n" }.joined().utf8)
    }

    /// An origin that answers the first `count` URLs of a list immediately, and the later URLs when the gate opens.
    private func gatedOrigin(answering count: Int, _ gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if (Int(request.target.dropFirst()) ?? 0) >= count { try gate.waitBlocking() }
            try connection.respond(body: request.target)
        }
    }

    @Test(
        "The command larder warm stores each listed URL with its own ttl, and a second run does not contact the origin")
    func twice() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(body: String(repeating: "x", count: 1000))
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let directory = try TemporaryDirectory()
            var input = list(origin, 700)
            input += Array("# a comment\n\n\(origin.url("/short")) 5 # not long\n".utf8)
            let path = try directory.write(input, to: "list")
            let first = try await larder.run(["warm", path, "--ttl", "60", "--tag", "t"])
            #expect(first.exit == .status(0), "\(first.errors)")
            #expect(first.text.hasPrefix("701 URLs: 701 downloaded; 685 KiB in "), "\(first.text)")
            // Without a terminal, the command draws no progress.
            #expect(first.errors.isEmpty && !first.text.contains("\u{1b}"))
            #expect(origin.requestCount == 701)
            let short = try await server.get("/entries/\(md5(origin.url("/short")))")
            #expect(try short.member("expiresInSeconds") == 5)
            #expect(try await server.get("/entries?tag=t&limit=1000").member("entries")?.arrayValue?.count == 701)

            let second = try await larder.run(["warm", "-"], input: input)
            #expect(second.text.hasPrefix("701 URLs: 701 already fresh; 0 B in "), "\(second.text)")
            #expect(origin.requestCount == 701)
            server.clock.advance(by: .seconds(5))
            let third = try await larder.run(["warm", "--json"], input: input)
            let lines = try third.jsonLines
            #expect(lines.count == 702)
            #expect(lines.last?["summary"]?["downloaded"] == 1 && lines.last?["summary"]?["cached"] == 700)
            #expect(lines.dropLast().allSatisfy { $0["url"] != nil && $0["entry"] != nil })
            #expect(origin.requestCount == 702)
        }
    }

    @Test("If a URL fails, larder warm reports the reason, downloads the other URLs, and exits with 1")
    func failures() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(request.target == "/1" ? 404 : 200, body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let input = list(origin, 3) + Array("nonsense\n\(origin.url("/a")) soon\n".utf8)
            let output = try await larder.run(["warm"], input: input)
            #expect(output.exit == .status(1))
            #expect(output.text.hasPrefix("5 URLs: 2 downloaded, 3 failed; "), "\(output.text)")
            let errors = output.errors.split(separator: "\n")
            #expect(errors.count == 3)
            #expect(errors.contains { $0.hasPrefix("line 5: ") && $0.contains("soon") })
            #expect(errors.contains { $0.hasPrefix("\(origin.url("/1")): ") && $0.contains("404") })
            #expect(errors.contains { $0.hasPrefix("nonsense: ") })
            #expect(try await larder.run(["warm", "/nonexistent"]).exit == .status(66))
            #expect(try await larder.run(["warm", "/"]).exit == .status(66))
            #expect(try await larder.run(["warm"]).text.hasPrefix("0 URLs; "))
        }
    }

    @Test(
        "After a kill, the next run of larder warm downloads only the remaining URLs, so the origin gets each URL once")
    func killed() async throws {
        let gate = Gate("the later answers")
        let origin = try gatedOrigin(answering: 50, gate)
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let input = list(origin, 300)
            let first = try larder.start(["warm"], input: input)
            try await origin.waitForRequests(60)
            first.process.kill(SIGKILL)
            _ = try await first.process.wait()
            gate.open()
            // After the command was killed, its running downloads continue. Its queued downloads do not start.
            try await poll("the end of the running downloads") { server.space.downloads.runningCount == 0 }
            let done = origin.requestCount
            #expect(done >= 60)
            let second = try await larder.run(["warm"], input: input)
            #expect(second.exit == .status(0), "\(second.errors)")
            let words = "300 URLs: " + (done < 300 ? "\(300 - done) downloaded, " : "") + "\(done) already fresh; "
            #expect(second.text.hasPrefix(words), "\(second.text)")
            #expect(Set(origin.requests.map(\.target)).count == 300 && origin.requestCount == 300)
        }
    }

    @Test("At SIGINT, larder warm ends with a summary of the finished and the unfinished URLs")
    func interrupted() async throws {
        let gate = Gate("the later answers")
        let origin = try gatedOrigin(answering: 20, gate)
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let run = try larder.start(["warm", "--json"], input: list(origin, 200))
            try await poll("the ends of the first 20 downloads") { run.text.count { $0 == "\n" } == 20 }
            run.process.kill(SIGINT)
            let output = try await run.output()
            #expect(output.exit == .status(130))
            let summary = try #require(try output.jsonLines.last?["summary"])
            #expect(summary["downloaded"] == 20 && summary["unfinished"] == 180)
            gate.open()
        }
    }

    @Test("If the server goes away, larder warm ends with status 69, a summary and an error")
    func serverGone() async throws {
        let gate = Gate("never")
        let origin = try gatedOrigin(answering: 1, gate)
        defer {
            gate.open()
            origin.stop()
        }
        let directory = try TemporaryDirectory()
        let server = try await LarderProcess(directory: directory.path("cache"))
        let larder = ClientCommands(server: "http://127.0.0.1:\(server.port)")
        let run = try larder.start(["warm", "--json"], input: list(origin, 10))
        try await poll("the end of the first download") { run.text.count { $0 == "\n" } == 1 }
        try await server.crash()
        let output = try await run.output()
        #expect(output.exit == .status(69))
        #expect(try output.jsonLines.last?["summary"]?["unfinished"] == 9)
        #expect(!output.errors.isEmpty)
    }

    @Test("On a terminal, larder warm redraws its progress in place, and at the end replaces it with the summary")
    func terminal() async throws {
        let rest = Gate("the rest of the large body")
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/large" else { return try connection.respond(body: "x") }
            try connection.sendHead(fields: [.contentLength: "2097152"])
            let piece = [UInt8](repeating: 0, count: 1 << 20)
            try connection.send([piece, piece], gates: [rest])
        }
        defer {
            rest.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let terminal = try PseudoTerminal(columns: 70)
            let input = Array("\(origin.url("/large"))\n\(origin.url("/small"))\nnonsense\n".utf8)
            let run = try larder.start(["warm"], input: input, terminal: terminal)
            terminal.release()
            func screen() -> [String] {
                var screen = TerminalScreen(columns: 70)
                // If the output so far ends within a control sequence, `write` throws, and `screen` returns no lines.
                return (try? screen.write(terminal.output)).map { screen.lines } ?? []
            }
            var lines: [String] = []
            try await poll("the end of the small download, and half of the large body") {
                lines = screen()
                return lines.count == 3 && lines[1].hasPrefix("2/3  66 %  [=")
                    && lines[2].contains("50 % of 2.0 MiB")
            }
            #expect(lines[0].hasPrefix("nonsense: "), "\(lines)")
            rest.open()
            #expect(try await run.process.wait() == .status(1))
            let output = try await terminal.outputToEnd()
            var last = TerminalScreen(columns: 70)
            try last.write(output)
            #expect(last.lines.count == 2, "\(last.lines)")
            #expect(last.lines.last?.hasPrefix("3 URLs: 2 downloaded, 1 failed; 2.0 MiB in ") == true)
        }
    }
}
