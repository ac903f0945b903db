import DiskCache
import Foundation
import HTTPTypes
import Larder
import LarderAPI
import Logging
import Primitives
import TestSupport
import Testing

@Suite("The registry of namespaces after kills, on full disks, and after changes by operators")
struct NamespaceRecoveryTests {
    @Test("A change of a namespace that the registry cannot store gets 500 and has no effect")
    func unwritableRegistry() async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "a")
            // The server cannot write the new registry, because a directory has the name of the file.
            let obstacle = server.directory.path("cache/namespaces.json.new")
            try FileManager.default.removeItem(atPath: obstacle)
            try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
            #expect(try await server.putNamespace("a", ["version": "2"]).status == 500)
            #expect(try await server.putNamespace("b").status == 500)
            #expect(try await server.client.request("DELETE", "/namespaces/a").status == 500)
            #expect(try await server.inNamespace("a").get("/entries/k/content").text == "a")
            #expect(try server.namespaceDirectories == ["a.1", "default"])
            try FileManager.default.removeItem(atPath: obstacle)
            #expect(try await server.putNamespace("a", ["version": "2"]).member("entries") == 0)
        }
    }

    @Test(
        "The next start removes directories that a kill left unused, and no new directory reuses one of their numbers")
    func leftover() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("a", ["version": "1"]).status == 200)
        }
        // A kill after the creation of two directories and before their use leaves this state.
        for name in ["a.2", "b.3"] { try Self.makeDirectory(name, in: directory) }
        let registry = try JSON(parsing: try text(of: directory.path("cache/namespaces.json")))
        try directory.write(
            JSON.object([
                .init("format", 1), .init("lastGeneration", 3),
                .init("namespaces", try #require(registry["namespaces"])), .init("unused", ["a.2", "b.3", "c.1"]),
            ]).text, to: "cache/namespaces.json")
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("a", ["version": "2"])
            try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "kept")
            try await poll("the leftover directories to go") { try server.namespaceDirectories == ["a.4", "default"] }
            #expect(try await server.inNamespace("a").request("PUT", "/entries/l/content", text: "too").status == 200)
            #expect(try await server.inNamespace("a").get("/entries/k/content").text == "kept")
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("a", ["defaultTTL": 60]).status == 200)
            #expect(try JSON(parsing: try text(of: directory.path("cache/namespaces.json")))["unused"] == nil)
        }
    }

    @Test("After a kill, the next start removes the directories of old versions and of removed namespaces")
    func retiredLeftover() async throws {
        let gate = Gate("the origin's answers")
        let origin = try ScriptedOrigin { _, _ in try gate.waitBlocking() }
        defer {
            gate.open()
            origin.stop()
        }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let call: @Sendable (String, String, JSON, String) async throws -> Int = { method, target, json, name in
            let fields: HTTPFields = [
                .contentType: "application/json", HTTPField.Name("Larder-Namespace")!: name,
                HTTPField.Name("Prefer")!: "respond-async",
            ]
            return try await larder.client.request(method, target, fields: fields, body: json.utf8).status
        }
        for name in ["a", "b"] {
            #expect(try await call("PUT", "/namespaces/\(name)", ["version": "1"], "default") == 200)
            // A download that does not end keeps the directory in use.
            #expect(try await call("POST", "/download", ["url": .string(origin.url("/\(name)"))], name) == 202)
        }
        try await origin.waitForRequests(2)
        #expect(try await call("PUT", "/namespaces/a", ["version": "2"], "default") == 200)
        #expect(try await larder.client.request("DELETE", "/namespaces/b").status == 200)
        try await larder.crash()
        let registry = try JSON(parsing: try text(of: directory.path("cache/namespaces.json")))
        // On a slow machine, the downloads may have timed out before the kill, and their directories may be gone.
        let unused = registry["unused"]?.arrayValue ?? []
        #expect(unused.allSatisfy { ["a.1", "b.2"].contains($0) })
        try await TestServer.with(directory: directory) { (server) async throws in
            try await poll("the old directories to go") { try server.namespaceDirectories == ["a.3", "default"] }
        }
    }

    @Test(
        "Larder warns about a directory with an index that the registry does not name, and does not use the directory",
        arguments: ["default.7", "a.7", "gone.3", "a.2"])
    func unknownDirectory(name: String) async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("a").status == 200)
            #expect(try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "kept").status == 200)
        }
        // An operator may copy a directory. The copy must not be used, because no purge of the original reaches it.
        try FileManager.default.copyItem(
            atPath: directory.path("cache/a.1"), toPath: directory.path("cache/\(name)"))
        let copied = try Self.files(in: directory.path("cache/\(name)"))
        for _ in 0..<2 {
            let larder = try await LarderProcess(directory: directory.path("cache"))
            let warnings = larder.logLines(
                "a directory with an index belongs to no namespace and stays; move it away, or remove it")
            #expect(warnings.map { $0["directory"] } == [.string(name)] && warnings[0]["level"] == "warning")
            let reply = try await larder.client.request(
                "PUT", "/namespaces/a", fields: [.contentType: "application/json"],
                body: JSON.object([.init("version", .string(UUID().uuidString))]).utf8)
            #expect(reply.status == 200)
            #expect(try reply.member("entries") == 0)
            #expect(try await larder.stop() == .status(0))
            #expect(try Self.files(in: directory.path("cache/\(name)")) == copied)
        }
    }

    @Test(
        "If namespaces.json is missing and only its spare exists, the start fails and leaves the cache unchanged"
    )
    func lostBesideSpare() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("default", ["origins": ["only.example"]]).status == 200)
            #expect(try await server.put("k", Array("kept".utf8)).status == 200)
        }
        let path = directory.path("cache/namespaces.json")
        let written = try Data(contentsOf: URL(filePath: path))
        try FileManager.default.removeItem(atPath: path)
        let before = try Self.files(in: directory.path("cache"))
        let started = try await blocking {
            try ChildProcess.run(
                LarderProcess.executable, ["serve", "--port", "0", "--directory", directory.path("cache")])
        }
        #expect(started.exit == .status(1))
        for words in [path, "the file is missing", "move the file away together with default, namespaces.json.new"] {
            #expect(started.text.contains(words), "\(started.text)")
        }
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(2))
        #expect(try Self.files(in: directory.path("cache")) == before)
        try written.write(to: URL(filePath: path))
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.get("/entries/k/content").text == "kept")
            #expect(try await server.get("/namespaces/default").member("origins") == ["only.example"])
        }
    }

    @Test("A kill during the first start leaves no file that stops the next start")
    func cutFirstStart() async throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path("cache"), withIntermediateDirectories: true)
        try directory.write("{\"format\": 1, \"lastGen", to: "cache/namespaces.json.first")
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.put("k", Array("first".utf8)).status == 200)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path("cache"))
        #expect(names.contains("namespaces.json") && !names.contains("namespaces.json.first"))
    }

    @Test(
        "Larder serves the entries in a cache directory of an old build, which knew no namespaces and wrote no registry"
    )
    func noRegistry() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.put("k", Array("first".utf8)).status == 200)
        }
        for name in ["namespaces.json", "namespaces.json.new"] {
            try FileManager.default.removeItem(atPath: directory.path("cache/\(name)"))
        }
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.get("/entries/k/content").text == "first")
        }
    }

    /// The damages to the registry's file.
    enum Damage: CaseIterable, CustomTestStringConvertible {
        case missing, empty, zeros, cut, notJSON, otherJSON, noDefault, newer, directory, danglingLink

        var testDescription: String { "\(self)" }

        /// The texts that the error contains.
        var words: [String] {
            switch self {
            case .missing, .danglingLink: ["the file is missing"]
            case .empty: ["the file is empty"]
            case .zeros, .cut, .notJSON: ["the file is not JSON"]
            case .otherJSON: ["\"format\" is not a number"]
            case .noDefault: ["\"default\" is missing"]
            case .directory: ["Is a directory"]
            case .newer: ["a newer Larder"]
            }
        }

        func happen(to path: String) throws {
            let written = try Data(contentsOf: URL(filePath: path))
            try FileManager.default.removeItem(atPath: path)
            switch self {
            case .missing: break
            case .danglingLink:
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".away")
            case .directory: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .empty: try Data().write(to: URL(filePath: path))
            case .zeros: try Data(count: written.count).write(to: URL(filePath: path))
            case .cut: try written.dropLast(written.count / 2).write(to: URL(filePath: path))
            case .notJSON: try Data("the namespaces".utf8).write(to: URL(filePath: path))
            case .otherJSON: try Data("[]".utf8).write(to: URL(filePath: path))
            case .noDefault:
                let text = #"{"format":1,"lastGeneration":9,"namespaces":[{"name":"a","generation":1}]}"#
                try Data(text.utf8).write(to: URL(filePath: path))
            case .newer: try Data("{\"format\": 2}".utf8).write(to: URL(filePath: path))
            }
        }
    }

    @Test(
        "If the registry is damaged, missing or newer, the start fails with a remedy, and changes no file",
        arguments: Damage.allCases)
    func refusedRegistry(damage: Damage) async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            #expect(try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "kept").status == 200)
            #expect(try await server.put("purged", Array("purged".utf8)).status == 200)
            // The version change moves the default namespace to default.2.
            #expect(try await server.putNamespace("default", ["version": "2"]).status == 200)
            try await poll("the old directory to go") { try server.namespaceDirectories == ["a.1", "default.2"] }
        }
        let path = directory.path("cache/namespaces.json")
        let written = try Data(contentsOf: URL(filePath: path))
        try damage.happen(to: path)
        let before = try Self.files(in: directory.path("cache"))
        let started = try await blocking {
            try ChildProcess.run(
                LarderProcess.executable, ["serve", "--port", "0", "--directory", directory.path("cache")])
        }
        #expect(started.exit == .status(1))
        #expect(started.text.contains(path) && started.text.contains("--directory"), "\(started.text)")
        for words in damage.words { #expect(started.text.contains(words), "\(started.text)") }
        #expect(started.text.contains("move the file away together with a.1, default.2") == (damage != .newer))
        let verified = try await LarderProcess.verify(directory.path("cache"))
        #expect(verified.exit == .status(2), "\(verified.text)")
        #expect(
            verified.text.hasPrefix("the cache cannot be checked: ") && verified.text.contains(path), "\(verified.text)"
        )
        #expect(try Self.files(in: directory.path("cache")) == before)
        if damage != .missing { try FileManager.default.removeItem(atPath: path) }
        try written.write(to: URL(filePath: path))
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.inNamespace("a").get("/entries/k/content").text == "kept")
            #expect(try await server.get("/entries/purged").status == 404)
        }
    }

    // MARK: - Files

    private static func makeDirectory(_ name: String, in directory: TemporaryDirectory) throws {
        try FileManager.default.createDirectory(
            atPath: directory.path("cache/\(name)/00"), withIntermediateDirectories: true)
        try directory.write("", to: "cache/\(name)/index.sqlite")
    }

    private func text(of path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Returns the lengths of the files below a directory. The test does not compare contents, because the lock file
    /// contains the time of the last start.
    private static func files(in directory: String) throws -> [String: Int] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).reduce(into: [:]) { files, name in
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
            files[name] = (attributes[.size] as? Int) ?? 0
        }
    }
}
