import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The executable and its tokens")
struct AccessProcessTests {
    private func run(_ arguments: [String], in directory: TemporaryDirectory) async throws -> ChildProcess.Output {
        let shell = "cd \"$0\" && exec \"$@\""
        return try await blocking {
            try ChildProcess.run("/bin/sh", ["-c", shell, directory.path(""), LarderProcess.executable] + arguments)
        }
    }

    @Test(
        "The server without tokens refuses to listen beyond loopback, and prints commands that would start the server")
    func exposed() async throws {
        let directory = try TemporaryDirectory()
        let refused = try await run(["serve", "--host", "0.0.0.0", "--port", "0", "--directory", "c"], in: directory)
        #expect(refused.exit != .status(0))
        let lines = refused.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let commands = lines.filter { $0.hasPrefix("larder ") }
        #expect(commands.count == 3)
        // The server prints three commands: the first creates a token, the second starts the server with tokens, and
        // the third starts the server with `--open`.
        let made = try await run(Array(commands[0].split(separator: " ").dropFirst().map(String.init)), in: directory)
        #expect(made.exit == .status(0), "\(made.text)")
        let token = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(token.hasPrefix("larder_me_"))
        for (arguments, field) in [(["--tokens-file", directory.path("tokens")], "Bearer \(token)"), (["--open"], "")] {
            let larder = try await LarderProcess(
                directory: directory.path("cache"), arguments: ["--host", "0.0.0.0"] + arguments)
            #expect(try await larder.client.request("GET", "/entries").status == (field.isEmpty ? 200 : 401))
            #expect(try await larder.client.request("GET", "/entries", fields: [.authorization: field]).status == 200)
            #expect(try await larder.stop() == .status(0))
        }
        for arguments in [["--host", "::1"], ["--host", "localhost"], ["--host", "127.0.0.2"]] {
            let larder = try await LarderProcess(directory: directory.path("cache"), arguments: arguments)
            // The server listens, but may not handle SIGTERM yet, so the test kills it.
            try await larder.crash()
        }
        let both = try await run(["serve", "--open", "--tokens-file", "tokens", "--port", "0"], in: directory)
        #expect(both.text.contains("exclude each other"))
    }

    @Test("SIGHUP does not end a server that has no files to reload")
    func hangUp() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        larder.process.kill(SIGHUP)
        try await poll("the log line about SIGHUP") { larder.logLines("SIGHUP was ignored").count == 1 }
        #expect(try await larder.client.request("GET", "/livez").status == 200)
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "The token commands edit the tokens file, and at SIGHUP the server reads the file again unless it is broken")
    func reload() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        func create(_ name: String, _ more: [String] = []) async throws -> String {
            let output = try await run(
                ["token", "create", "--tokens-file", path, "--name", name, "--scope", "read"] + more, in: directory)
            #expect(output.exit == .status(0), "\(output.text)")
            return output.text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let one = try await create("one")
        let larder = try await LarderProcess(directory: directory.path("cache"), arguments: ["--tokens-file", path])
        func status(_ token: String) async throws -> Int {
            try await larder.client.request("GET", "/entries", fields: [.authorization: "Bearer \(token)"]).status
        }
        #expect(try await status(one) == 200)
        let two = try await create("two", ["--scope", "purge", "--namespace", "*", "--rate", "7"])
        #expect(try await status(two) == 401)
        larder.process.kill(SIGHUP)
        try await poll("the new token") { larder.logLines("tokens were reloaded").count == 1 }
        #expect(try await status(two) == 200)
        let list = try await run(["token", "list", "--tokens-file", path], in: directory)
        #expect(list.text == "one  scopes read  namespaces default\ntwo  scopes purge,read  namespaces *  rate 7.0\n")
        #expect(!list.text.contains(two.suffix(43)))
        #expect(
            try await run(["token", "remove", "--name", "one", "--tokens-file", path], in: directory).exit == .status(0)
        )
        #expect(
            try await run(["token", "remove", "--name", "one", "--tokens-file", path], in: directory).exit != .status(0)
        )
        larder.process.kill(SIGHUP)
        try await poll("the second reload of the tokens") { larder.logLines("tokens were reloaded").count == 2 }
        #expect(try await status(one) == 401)
        _ = try directory.write("nonsense", to: "tokens")
        larder.process.kill(SIGHUP)
        try await poll("the log line about the broken file") {
            larder.logLines("tokens could not be reloaded; the previous ones stay in force").count == 1
        }
        #expect(try await status(two) == 200)
        #expect(try await larder.stop() == .status(0))
        #expect(!larder.process.output.contains(one.suffix(43)) && !larder.process.output.contains(two.suffix(43)))
    }

    @Test("The log has a line with token, target and count for each changing call, and no line for a read")
    func audit() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        let arguments = ["write", "read", "purge", "admin", "download"].flatMap { ["--scope", $0] }
        let made = try await run(
            ["token", "create", "--tokens-file", path, "--name", "ops"] + arguments, in: directory)
        let token = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
        let larder = try await LarderProcess(directory: directory.path("cache"), arguments: ["--tokens-file", path])
        let fields: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        for (method, target, body) in [
            ("PUT", "/entries/a/content?tags=t", "1"), ("PUT", "/entries/b/content?tags=t", "1"),
            ("PUT", "/entries/c/content", "1"), ("PUT", "/json?url=http%3A%2F%2Fh%2F%3Fkey%3Dsecret", "1"),
            ("PATCH", "/entries/c", #"{"pinned": true}"#),
            ("GET", "/entries/c/content", ""), ("GET", "/entries", ""), ("DELETE", "/entries/c", ""),
            ("DELETE", "/entries?tag=t", ""), ("DELETE", "/entries?tag=t", ""),
            ("DELETE", "/entries?prefix=http%3A%2F%2Fh%2F%3Fkey%3Dsecret", ""), ("POST", "/memory/trim", ""),
        ] {
            #expect(
                try await larder.client.request(method, target, fields: fields, text: body).status == 200, "\(target)")
        }
        #expect(try await larder.stop() == .status(0))
        let lines = larder.logLines("change")
        #expect(lines.allSatisfy { $0["token"] == "ops" && $0["remote"] == "127.0.0.1" })
        let words = lines.map {
            "\($0["operation"]?.stringValue ?? "") \($0["what"]?.stringValue ?? "") \($0["count"]?.text ?? "")"
        }
        #expect(
            words.dropLast() == [
                "putContent a 1", "putContent b 1", "putContent c 1", "putJSON \(md5("http://h/?key=secret")) 1",
                "updateEntry c 1", "removeEntry c 1", "removeEntries tag=t 2", "removeEntries prefix=http://h/?… 1",
            ])
        #expect(words.last?.hasPrefix("trimMemory ") == true)
        #expect(!larder.process.output.contains("secret"))
    }

    @Test("The log has one line for a download, one line with the count for a batch, and no line for a hit")
    func downloads() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let one = #"{"url": "\#(origin.url("/1"))"}"#
        let others = ["/1", "/2", "/3"].map { #"{"url": "\#(origin.url($0))"}"# }.joined(separator: ",")
        for (target, text) in [
            ("/download", one), ("/download", one), ("/downloads", "[\(others)]"),
            ("/download", #"{"url": "\#(origin.url("/1"))", "tags": ["t"]}"#),
        ] {
            let fields: HTTPFields = [.contentType: "application/json"]
            #expect(try await larder.client.request("POST", target, fields: fields, text: text).status == 200)
        }
        #expect(try await larder.stop() == .status(0))
        let key = md5(origin.url("/1"))
        let words = larder.logLines("change").map { [$0["operation"], $0["what"], $0["count"]] }
        #expect(
            words == [["download", .string(key), 1], ["downloadAll", "batch", 2], ["download", .string(key), 1]])
    }

    @Test("On every log level, no line of the log contains a token or the password of a URL")
    func secretsInPaths() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--log-level", "trace"])
        let token = "larder_me_" + String(repeating: "s3cret", count: 8)
        for target in [
            "/fetch/http://user:s3cret@127.0.0.1:1/", "/entries/\(token)", "/fetch/http://127.0.0.1:1/?key=s3cret",
            "/plain", "/nowhere/\(token.replacing("l", with: "%6C"))", "/@\(token)/entries", "/livez?key=s3cret",
            "/entries/\(Data(token.utf8).base64EncodedString())",
        ] {
            _ = try await larder.client.request("GET", target, fields: [.authorization: "Bearer s3cret"])
        }
        #expect(try await larder.stop() == .status(0))
        let lines = larder.logLines("request")
        #expect(lines.count == 8)
        #expect(lines.count { $0["status"] == 400 && $0["path"] == "…" } == 5)
        #expect(!larder.process.output.contains("s3cret"))
        #expect(!larder.process.output.contains(Data("s3cret".utf8).base64EncodedString()))
    }
}
