import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Client commands on a terminal")
struct TerminalOutputTests {
    /// The text that a command shows on a terminal, and its exit status.
    private func show(
        _ arguments: [String], _ larder: ClientCommands
    ) async throws -> (exit: ChildProcess.Exit, text: String) {
        let terminal = try PseudoTerminal(columns: 80)
        let run = try larder.start(arguments, terminal: terminal)
        terminal.release()
        return (try await run.process.wait(), try await terminal.outputToEnd())
    }

    @Test("The get command prints only text to a terminal, but prints any body to a pipe or with --output -")
    func body() async throws {
        let hostile = "a\u{1b}]0;x\u{7}b"
        let server = try ScriptedOrigin { request, connection in
            try connection.respond(body: request.target == "/entries/text/content" ? "é\n" : hostile)
        }
        defer { server.stop() }
        let larder = ClientCommands(server: server.url(""))
        let text = try await show(["get", "text"], larder)
        #expect(text.exit == .status(0) && text.text == "é\r\n", "\(text)")
        let refused = try await show(["get", "binary"], larder)
        #expect(refused.exit == .status(64))
        #expect(refused.text.contains("--output -") && !refused.text.unicodeScalars.contains("\u{1b}"))
        let meant = try await show(["get", "binary", "--output", "-"], larder)
        #expect(meant.exit == .status(0) && meant.text == hostile)
        #expect(try await larder.run(["get", "binary"]).text == hostile)
    }

    @Test(
        "The ls command shortens its lines to the width of a terminal, but prints full URLs to a pipe and with --json")
    func list() async throws {
        let url = "http://h.example/" + String(repeating: "very-long/", count: 30) + "end"
        try await TestServer.with { (server) async throws in
            let stored = try await server.client.request(
                "PUT", "/json?url=\(url)", fields: [.contentType: "application/json"], body: Array("[1]".utf8))
            #expect(stored.status == 200)
            #expect(try await server.put("own-key", [1]).status == 200)
            let larder = ClientCommands(server: "http://127.0.0.1:\(server.api.port)")
            let shown = try await show(["ls"], larder)
            #expect(shown.exit == .status(0))
            let lines = shown.text.split(separator: "\r\n")
            #expect(lines.count == 3 && lines.allSatisfy { $0.count <= 80 }, "\(shown.text)")
            #expect(lines.first?.hasPrefix("URL ") == true && lines.first?.contains("KEY") == false)
            #expect(lines.contains { $0.hasPrefix("http://h.example/") && $0.contains("...") && $0.contains("json") })
            #expect(lines.contains { $0.hasPrefix("own-key ") })
            #expect(try await larder.run(["ls"]).text.contains("\t3\t\(url)\n"))
            #expect(try await show(["ls", "--json"], larder).text.contains(url))
        }
    }

    @Test("The flag --json escapes control characters on a terminal, and prints them unchanged to a pipe")
    func json() async throws {
        let json: JSON = ["key": "a\u{9b}2J\u{7f}\u{202e}b"]
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: "application/json"], body: json.text)
        }
        defer { server.stop() }
        let larder = ClientCommands(server: server.url(""))
        let shown = try await show(["get", "a", "--json"], larder)
        #expect(shown.text == ##"{"key":"a\u009b2J\u007f\u202eb"}"## + "\r\n")
        #expect(try JSON(parsing: shown.text) == json)
        #expect(try await larder.run(["get", "a", "--json"]).text == json.text + "\n")
    }
}
