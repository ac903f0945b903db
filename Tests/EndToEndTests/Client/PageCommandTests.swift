import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The command larder page")
struct PageCommandTests {
    @Test("The command larder page save prints a complete page, and its view opens at the printed address")
    func save() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let url = origin.url("/")
            let key = md5(url) + "-page"
            let saved = try await larder.run(
                ["page", "save", url, "--wait", "--ttl", "1d", "--tag", "a", "--tag", "b", "--pinned"])
            #expect(saved.exit == .status(0) && saved.errors.isEmpty, "\(saved.errors)")
            #expect(saved.values["state"] == "complete" && saved.values["key"] == key)
            #expect(saved.values["title"] == PageOrigin.title && saved.values["mode"] == "static")
            #expect(saved.values["captured"] == "4" && saved.values["missing"] == "0")
            #expect(saved.values["tags"] == "a,b" && saved.values["pinned"] == "yes")
            for name in [url, "HTTP://127.0.0.1:\(origin.port)/x/..", key, md5(url)] {
                let opened = try await larder.run(["page", "open", name])
                #expect(opened.exit == .status(0), "\(name): \(opened.errors)")
                let path = try #require(opened.text.split(separator: "\n").first?.dropFirst(larder.server.count))
                #expect(opened.text.hasPrefix("\(larder.server)/pages/\(key)/view/"))
                #expect(try await server.get("\(path)\(url)").text.contains("Words &amp; more"))
            }
            let json = try await larder.run(["page", "open", url, "--json"]).json
            #expect(json["address"]?.stringValue?.hasPrefix(larder.server) == true)
            let again = try await larder.run(["page", "save", url, "--wait", "--json", "--mode", "static"])
            #expect(try again.json["state"] == "complete" && again.exit == .status(0))
        }
    }

    @Test("The command larder page save sends the document, fields and cookies of the caller to the page's own origin")
    func document() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let saved = try await larder.run(
                [
                    "page", "save", origin.url("/account"), "--wait", "--html", "-", "--header", "Accept-Language: cy",
                    "--cookie", "session=1", "--max-seconds", "30",
                ], input: Array("<title>Mine</title><img src=image.png>".utf8))
            #expect(saved.exit == .status(0) && saved.values["title"] == "Mine", "\(saved.errors)")
            #expect(origin.requests.map(\.target) == ["/image.png"])
            #expect(origin.requests.first?["Accept-Language"] == "cy")
            #expect(origin.requests.first?["Cookie"] == "session=1")
            for (option, status) in [(["--html", "/none"], 66), (["--html", "-"], 64), (["--mode", "x"], 64)] {
                let refused = try await larder.run(
                    ["page", "save", origin.url("/")] + option, input: [0x3c, 0xff, 0x3e])
                #expect(refused.exit == .status(Int32(status)), "\(option): \(refused.errors)")
            }
        }
    }

    @Test("The exit status and standard error distinguish a partial capture, a failed capture and a missing page")
    func failures() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let partial = try await larder.run(["page", "save", origin.url("/partial"), "--wait"])
            #expect(partial.exit == .status(3) && partial.values["state"] == "partial")
            #expect(partial.errors.hasPrefix(origin.url("/refused") + ": "), "\(partial.errors)")
            let json = try await larder.run(["page", "save", origin.url("/partial"), "--wait", "--json"])
            #expect(try json.exit == .status(3) && json.errors.isEmpty && json.json["missing"] == 1)
            let gone = try await larder.run(["page", "save", origin.url("/gone"), "--wait"])
            #expect(gone.exit == .status(1) && gone.errors.contains("could not be fetched") && gone.text.isEmpty)
            let started = try await larder.run(["page", "save", origin.url("/gone")])
            #expect(started.exit == .status(0) && started.values["key"] == md5(origin.url("/gone")) + "-page")
            let directory = try TemporaryDirectory()
            for name in [md5("x") + "-page", "none", origin.url("/other")] {
                #expect(try await larder.run(["page", "open", name]).exit == .status(4), "\(name)")
                let export = try await larder.run(["page", "export", name, "-o", directory.path("a.wacz")])
                #expect(export.exit == .status(4) && export.text.isEmpty)
                let removal = try await larder.run(["page", "rm", name])
                #expect(removal.exit == .status(4) && removal.errors == "\(name): no page\n")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
            #expect(try await larder.run(["page", "ls", "--state", "x"]).exit == .status(64))
            #expect(try await larder.run(["page", "export", "k", "-o", directory.path("a.warc")]).exit == .status(64))
            #expect(try await larder.run(["page", "export", "k", "-o", "-"]).exit == .status(64))
        }
        let down = ClientCommands(server: try RefusingPort().url(""))
        for arguments in [
            ["save", "http://h/", "--wait"], ["ls"], ["open", "k"], ["export", "k", "-o", "-", "--format", "warc"],
            ["import", "/dev/null"], ["rm", "k"],
        ] {
            #expect(try await down.run(["page"] + arguments).exit == .status(69), "\(arguments)")
        }
    }

    @Test("The command larder page ls lists the pages that match all filters, and page rm removes pages")
    func list() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            _ = try await larder.run(["page", "save", origin.url("/"), "--wait", "--tag", "t"])
            _ = try await larder.run(["page", "save", origin.url("/partial"), "--wait", "--tag", "t"])
            let rows = try await larder.run(["page", "ls"]).text.split(separator: "\n").map {
                $0.split(separator: "\t", omittingEmptySubsequences: false)
            }
            #expect(rows.count == 2 && rows.allSatisfy { $0.count == 7 })
            let partial = try #require(rows.first { $0[1] == "partial" })
            #expect(partial[3...].map(String.init) == ["2", "1", origin.url("/partial"), "Half"], "\(partial)")
            func urls(_ filters: String...) async throws -> [String] {
                let found = try await larder.run(["page", "ls", "--json"] + filters)
                return try found.jsonLines.compactMap { $0["url"]?.stringValue }
            }
            #expect(try await urls("--state", "complete") == [origin.url("/")])
            #expect(try await urls("--query", "HALF", "--tag", "t") == [origin.url("/partial")])
            #expect(try await urls("--tag", "none") == [])
            #expect(try await larder.run(["download", origin.url("/"), "--ttl", "60"]).exit == .status(0))
            let removed = try await larder.run(["page", "rm", origin.url("/"), "none"])
            #expect(removed.exit == .status(4) && removed.values["removed"] == "1")
            #expect(try await larder.run(["get", origin.url("/")]).exit == .status(0))
            #expect(try await larder.run(["page", "rm", String(partial[0]), "--json"]).json == ["removed": 1])
            #expect(try await urls() == [])
            _ = try await larder.run(["page", "save", origin.url("/"), "--wait"])
            #expect(try await larder.run(["rm", origin.url("/")]).values["removed"] == "2")
            #expect(try await urls() == [])
        }
    }

    @Test(
        "An exported page is imported into another server, from a file and from standard input",
        arguments: [
            "page.warc.gz", "page.wacz",
        ])
    func archive(name: String) async throws {
        let origin = try PageOrigin.start()
        let url = origin.url("/")
        let directory = try TemporaryDirectory()
        let path = directory.path(name)
        let bytes = try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            _ = try await larder.run(["page", "save", url, "--wait"])
            let exported = try await larder.run(["page", "export", url, "-o", path])
            #expect(exported.exit == .status(0) && exported.text.isEmpty, "\(exported.errors)")
            let format = name.hasSuffix("wacz") ? "wacz" : "warc"
            return try await larder.run(["page", "export", url, "-o", "-", "--format", format]).bytes
        }
        origin.stop()
        #expect(try directory.read(name).prefix(2) == bytes.prefix(2) && bytes.count > 500)
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let imported = try await larder.run(
                ["page", "import", path, "--url", url, "--ttl", "60", "--tag", "a", "--tag", "b", "--pinned"])
            #expect(imported.exit == .status(0), "\(imported.errors)")
            #expect(imported.values["state"] == "complete" && imported.values["mode"] == "imported")
            #expect(imported.values["tags"] == "a,b" && imported.values["pinned"] == "yes")
            let piped = try await larder.run(["page", "import", "-", "--json"], input: bytes)
            #expect(try piped.exit == .status(0) && piped.json["url"]?.stringValue == url, "\(piped.errors)")
            #expect(try await larder.run(["page", "open", url]).exit == .status(0))
            #expect(try await larder.run(["page", "import", directory.path("none")]).exit == .status(66))
            #expect(try await larder.run(["page", "import", "-"], input: Array("nonsense".utf8)).exit == .status(64))
        }
    }

    @Test("An export that breaks off leaves no file, and keeps the file that it would have replaced")
    func brokenExport() async throws {
        let server = try ScriptedOrigin { _, connection in
            try connection.startChunks()
            try connection.sendChunk(String(repeating: "x", count: 100_000))
            connection.close()
        }
        defer { server.stop() }
        let larder = ClientCommands(server: server.url(""))
        let directory = try TemporaryDirectory()
        for name in ["new.wacz", "old.wacz"] {
            if name == "old.wacz" { _ = try directory.write("old", to: name) }
            let broken = try await larder.run(["page", "export", "k", "-o", directory.path(name)])
            #expect(broken.exit == .status(69), "\(broken.errors)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["old.wacz"])
        #expect(try directory.read("old.wacz") == Array("old".utf8))
    }

    @Test("On a terminal, the command larder page save shows the progress of the capture, and at the end only the page")
    func progress() async throws {
        let gate = Gate("the image")
        let origin = try PageOrigin.start(waits: gate) { $0 == "/image.png" }
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let terminal = try PseudoTerminal(columns: 80)
            let run = try ClientCommands(server).start(["page", "save", origin.url("/"), "--wait"], terminal: terminal)
            terminal.release()
            func lines(_ output: String) -> [String] {
                var screen = TerminalScreen(columns: 80)
                // If the output ends within a control sequence, `write` throws, and the screen counts as empty.
                return (try? screen.write(output)).map { screen.lines } ?? []
            }
            try await poll("the progress") { lines(terminal.output).first?.contains("3 of 4") == true }
            gate.open()
            #expect(try await run.process.wait() == .status(0))
            let shown = lines(try await terminal.outputToEnd())
            #expect(shown.first?.hasPrefix("url ") == true && !shown.contains { $0.contains(" of 4") }, "\(shown)")
        }
    }
}
