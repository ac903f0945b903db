import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The commands larder outbox and larder credential")
struct OutboxCommandTests {
    /// An origin with a document in JSON. Its tag is a digest of the body, so it is sound at once.
    private final class Document: Sendable {
        let origin: ScriptedOrigin
        private let state: Content

        private final class Content: Sendable {
            let value = Locked(#"{"title":"Old","n":1}"#)
        }

        /// With `secret`, the origin accepts only requests with this value in `Authorization`.
        init(secret: String? = nil) throws {
            let state = Content()
            self.state = state
            origin = try ScriptedOrigin { request, connection in
                if let secret, request["Authorization"] != secret { return try connection.respond(401) }
                let tag = state.value.withLock { #""\#(md5($0))""# }
                guard request.method != "GET" else {
                    let fields: HTTPFields = [.contentType: "application/json", .eTag: tag]
                    return try connection.respond(fields: fields, body: state.value.withLock(\.self))
                }
                if let wanted = request["If-Match"], wanted != tag { return try connection.respond(412) }
                state.value.withLock { $0 = String(decoding: request.body, as: UTF8.self) }
                try connection.respond(204)
            }
        }

        var url: String { origin.url("/note") }
        var body: String { state.value.withLock(\.self) }
        func write(_ body: String) { state.value.withLock { $0 = body } }
    }

    /// Waits until a change has a state.
    private func wait(for state: String, of id: String, _ larder: ClientCommands) async throws {
        try await poll {
            try await larder.run(["outbox", "show", id]).values["state"]
        } until: {
            $0 == state
        }
    }

    @Test("A sent change reaches the origin, is listed and shown, and is taken back by a revert")
    func send() async throws {
        let document = try Document()
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            _ = try await larder.run(["download", document.url, "--ttl", "3600"])
            let patch = [
                "outbox", "send", document.url, "--patch", #"{"title": "New"}"#, "--idempotency-key", "k", "--wait",
            ]
            let sent = try await larder.run(patch)
            #expect(sent.exit == .status(0) && sent.errors.isEmpty, "\(sent.errors)")
            #expect(["confirmed", "done"].contains(sent.values["state"]), "\(sent.text)")
            #expect(document.body == #"{"title":"New","n":1}"#)
            let id = try #require(sent.values["id"])
            try await wait(for: "done", of: id, larder)
            // The same command is the same change.
            #expect(try await larder.run(patch + ["--json"]).json["id"]?.text == id)
            let rows = try await larder.run(["outbox", "ls", "--state", "done,conflict", "--url", document.url]).text
                .split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
            #expect(rows.count == 1 && rows[0].count == 9 && rows[0][0] == id && rows[0][7] == document.url)
            #expect(try await larder.run(["outbox", "ls", "--state", "pending", "--json"]).jsonLines.isEmpty)
            #expect(try await larder.run(["outbox", "cancel", id]).exit == .status(1))
            let reverted = try await larder.run(["outbox", "revert", id])
            #expect(reverted.exit == .status(0) && reverted.values["id"] != id, "\(reverted.errors)")
            try await wait(for: "done", of: try #require(reverted.values["id"]), larder)
            #expect(try JSON(parsing: document.body)["title"] == "Old")
            // A whole body from standard input, over a version that the command names.
            let tag = try #require(try await server.get("/entries/\(md5(document.url))/content")["ETag"])
            let unquoted = String(tag.dropFirst().dropLast())
            let whole = try await larder.run(
                ["outbox", "send", document.url, "--file", "-", "--base", unquoted, "--wait"],
                input: Array(#"{"title": "Whole"}"#.utf8))
            #expect(whole.exit == .status(0), "\(whole.errors)")
            #expect(document.body == #"{"title": "Whole"}"#)
            let last = try #require(document.origin.requests.last { $0.method == "PUT" })
            #expect(last["Content-Type"] == "application/json")
        }
    }

    @Test("A conflict ends the wait with status 1, is shown by members, and is resolved with either side or a body")
    func conflict() async throws {
        let document = try Document()
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let directory = try TemporaryDirectory()
            let seen = try directory.write(#"{"title":"Old"}"#, to: "seen.json")
            func clash(_ title: String) async throws -> String {
                document.write(#"{"title":"Rival"}"#)
                let sent = try await larder.run([
                    "outbox", "send", document.url, "--data", #"{"title":"\#(title)"}"#, "--seen", seen, "--wait",
                ])
                #expect(sent.exit == .status(1) && sent.errors.contains("larder outbox resolve"), "\(sent.errors)")
                #expect(sent.values["state"] == "conflict")
                return try #require(sent.values["id"])
            }
            var id = try await clash("Mine")
            let shown = try await larder.run(["outbox", "show", id])
            #expect(shown.text.hasSuffix("\nmember\t/title\tclash\t\"Old\"\t\"Mine\"\t\"Rival\"\n"), "\(shown.text)")
            let json = try await larder.run(["outbox", "show", id, "--json"]).json
            #expect(json["theirs"]?["text"] == #"{"title":"Rival"}"#)
            let both = try await larder.run(
                ["outbox", "resolve", id, "--file", "-"], input: Array(#"{"title":"Both"}"#.utf8))
            #expect(both.exit == .status(0), "\(both.errors)")
            try await wait(for: "done", of: id, larder)
            #expect(document.body == #"{"title":"Both"}"#)
            id = try await clash("Ours")
            #expect(try await larder.run(["outbox", "resolve", id, "--take", "ours"]).exit == .status(0))
            try await wait(for: "done", of: id, larder)
            #expect(document.body == #"{"title":"Ours"}"#)
            id = try await clash("Lost")
            let theirs = try await larder.run(["outbox", "resolve", id, "--take", "theirs", "--json"])
            #expect(try theirs.json["state"] == "cancelled")
            #expect(document.body == #"{"title":"Rival"}"#)
        }
    }

    @Test("Changes of an origin that is away wait, and are squashed, retried and cancelled")
    func away() async throws {
        let port = try RefusingPort()
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let url = "http://127.0.0.1:\(port.number)/x"
            var ids: [String] = []
            for body in ["1", "2", "3"] {
                let sent = try await larder.run(["outbox", "send", url, "--data", body, "--base", "blind"])
                #expect(sent.exit == .status(0), "\(sent.errors)")
                ids.append(try #require(sent.values["id"]))
            }
            // The first change holds the lane, so the others have not been sent.
            let squashed = try await larder.run(["outbox", "squash"] + ids.dropFirst())
            #expect(squashed.exit == .status(0) && squashed.values["id"] == ids[2], "\(squashed.errors)")
            try await wait(for: "cancelled", of: ids[1], larder)
            #expect(try await larder.run(["outbox", "retry", ids[0]]).values["id"] == ids[0])
            #expect(try await larder.run(["outbox", "cancel", ids[2]]).values["state"] == "cancelled")
            let other = "http://127.0.0.1:\(port.number)/y"
            let waiting = try larder.start(
                ["outbox", "send", other, "--method", "DELETE", "--base", "blind", "--wait"])
            var listed = ""
            for _ in 0..<1000 where listed.isEmpty {
                listed = try await larder.run(["outbox", "ls", "--url", other]).text
            }
            #expect(listed.contains("\tDELETE\t"))
            waiting.process.kill(SIGINT)
            #expect(try await waiting.process.wait() == .signal(SIGINT))
            #expect(waiting.text.isEmpty)
            #expect(try await larder.run(["outbox", "ls", "--url", other]).text.contains("\tDELETE\t"))
        }
    }

    @Test("A credential is stored from standard input, is never shown, and reaches its origin")
    func credentials() async throws {
        let document = try Document(secret: "Bearer s3cret")
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let origin = document.origin.url("")
            func put(_ value: String) async throws -> ClientCommands.Output {
                try await larder.run(
                    ["credential", "put", "notes", "--origin", origin, "--header-file", "-"],
                    input: Array("Authorization: Bearer \(value)\n".utf8))
            }
            let stored = try await put("stale")
            #expect(stored.exit == .status(0) && stored.text == "name\tnotes\norigin\t\(origin)\n", "\(stored.errors)")
            let sent = try await larder.run([
                "outbox", "send", document.url, "--data", "1", "--base", "blind", "--credential", "notes", "--wait",
            ])
            #expect(sent.exit == .status(1) && sent.values["state"] == "blocked", "\(sent.text)")
            #expect(sent.errors.contains("larder credential put"), "\(sent.errors)")
            let renewed = try await put("s3cret")
            try await wait(for: "done", of: try #require(sent.values["id"]), larder)
            #expect(document.body == "1")
            let listed = try await larder.run(["credential", "ls"])
            #expect(listed.text == "notes\t\(origin)\n")
            let json = try await larder.run(["credential", "ls", "--json"])
            #expect(try json.jsonLines == [["name": "notes", "origins": [.string(origin)]]])
            for output in [stored, sent, renewed, listed, json] {
                #expect(!(output.text + output.errors).contains("s3cret"))
            }
            let removed = try await larder.run(["credential", "remove", "notes"])
            #expect(removed.exit == .status(0) && removed.text == "removed\t1\n")
            #expect(try await larder.run(["credential", "remove", "notes"]).exit == .status(4))
            let faulty = try await larder.run(
                ["credential", "put", "notes", "--origin", origin, "--header-file", "-"], input: Array("s3cret".utf8))
            #expect(faulty.exit == .status(64) && !faulty.errors.contains("s3cret"))
        }
    }

    @Test("Failures of the commands have the exit statuses of the other commands")
    func failures() async throws {
        let document = try Document()
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            for arguments in [
                ["show", "99"], ["retry", "99"], ["cancel", "99"], ["resolve", "99", "--take", "ours"],
                ["revert", "99"], ["squash", "98", "99"],
            ] {
                let output = try await larder.run(["outbox"] + arguments)
                #expect(output.exit == .status(4) && output.text.isEmpty, "\(arguments): \(output.errors)")
            }
            let send = ["outbox", "send", document.url]
            for (arguments, status) in [
                (["--data", "1", "--base", "W/\"x\""], 64), (["--data", "1", "--header", "Cookie: x"], 64),
                (["--patch", "{"], 64), (["--data", "1", "--on-conflict", "x"], 64), (["--file", "/none"], 66),
                (["--data", "1", "--base", "none"], 1), ([], 64),
            ] as [([String], Int32)] {
                let output = try await larder.run(send + arguments)
                #expect(output.exit == .status(status) && output.text.isEmpty, "\(arguments): \(output.errors)")
            }
            let forbidden = try await larder.run(["outbox", "send", "http://10.0.0.1/", "--data", "1", "--json"])
            #expect(try forbidden.exit == .status(1) && JSON(parsing: forbidden.errors)["pointer"] == "/url")
            #expect(try await larder.run(["outbox", "ls", "--namespace", "none"]).exit == .status(4))
        }
        let down = ClientCommands(server: try RefusingPort().url(""))
        for arguments in [
            ["outbox", "send", "http://h/", "--data", "1"], ["outbox", "ls"], ["outbox", "show", "1"],
            ["credential", "ls"], ["credential", "remove", "a"],
        ] {
            #expect(try await down.run(arguments).exit == .status(69), "\(arguments)")
        }
    }

    @Test("On a terminal, a conflict is shown in blocks that fit its width, and foreign text is escaped")
    func terminal() async throws {
        let hostile = "\u{1b}]0;x\u{7}" + String(repeating: "long", count: 50)
        let version: (String) -> JSON = { text in
            ["text": .string(JSON.object([.init("title", .string(text))]).text), "data": .null, "etag": .null]
        }
        let change: JSON = [
            "id": 7, "url": "http://h/a", "method": "PUT", "lane": "http://h/a", "state": "conflict",
            "problem": ["kind": "clash", "status": 412], "attempts": 1, "base": "version", "seen": version("Old"),
            "ours": version("Mine"), "theirs": version(hostile),
        ]
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: "application/json"], body: change.text)
        }
        defer { server.stop() }
        let terminal = try PseudoTerminal(columns: 80)
        let larder = ClientCommands(server: server.url(""))
        let run = try larder.start(["outbox", "show", "7"], terminal: terminal)
        terminal.release()
        #expect(try await run.process.wait() == .status(0))
        let text = try await terminal.outputToEnd()
        let block = ["", "/title  clash", "  base    \"Old\"", "  ours    \"Mine\"", "  theirs  \""]
        #expect(text.contains(block.joined(separator: "\r\n")), "\(text)")
        #expect(text.contains("problem   the origin has a newer version"), "\(text)")
        #expect(!text.unicodeScalars.contains("\u{1b}") && text.contains("larder outbox resolve 7"))
        let values = text.split(separator: "\r\n").filter { $0.hasPrefix("  ") }
        #expect(values.count == 3 && values.allSatisfy { $0.count <= 80 })
    }
}
