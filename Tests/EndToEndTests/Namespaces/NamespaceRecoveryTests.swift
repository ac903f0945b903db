import DiskCache
import Foundation
import HTTPTypes
import Larder
import LarderAPI
import Logging
import Primitives
import TestSupport
import Testing

@Suite("What a kill, a full disk or an operator does to what says which namespaces there are")
struct NamespaceRecoveryTests {
    @Test("a registry that cannot be read is set aside, and everything begins anew, empty")
    func corruptRegistry() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "a")
            #expect(try await server.put("k", Array("default".utf8)).status == 200)
        }
        try directory.write("{\"format\": 1", to: "cache/namespaces.json")
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.inNamespace("a").get("/entries").status == 404)
            #expect(try await server.get("/entries/k").status == 404)
            try await poll("the old directories to go") { try server.namespaceDirectories == ["default.2"] }
            #expect(try await server.putNamespace("a").member("entries") == 0)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path("cache"))
            #expect(names.contains { $0.hasPrefix("namespaces.json.corrupt-") })
        }
    }

    @Test("a registry that cannot be written changes nothing")
    func unwritableRegistry() async throws {
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "a")
            // In the way of the file that is written first.
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

    @Test("a directory that a kill has left behind is never taken for a new one")
    func leftover() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.putNamespace("a", ["version": "1"]).status == 200)
        }
        // As a kill leaves it between the making of a directory and the writing of what says that there is one.
        for name in ["a.2", "b.3"] {
            try FileManager.default.createDirectory(
                atPath: directory.path("cache/\(name)/00"), withIntermediateDirectories: true)
            try directory.write("", to: "cache/\(name)/index.sqlite")
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("a", ["version": "2"])
            try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "kept")
            try await poll("what was left behind to go") { try server.namespaceDirectories == ["a.4", "default"] }
            #expect(try await server.inNamespace("a").request("PUT", "/entries/l/content", text: "too").status == 200)
            #expect(try await server.inNamespace("a").get("/entries/k/content").text == "kept")
        }
    }

    @Test("without the file, what may have been purged does not come back; what never was is as it was")
    func lostRegistry() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.put("k", Array("first".utf8)).status == 200)
        }
        // A build before there were namespaces has none.
        try FileManager.default.removeItem(atPath: directory.path("cache/namespaces.json"))
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.get("/entries/k/content").text == "first")
            #expect(try await server.putNamespace("default", ["version": "2"]).status == 200)
        }
        try FileManager.default.removeItem(atPath: directory.path("cache/namespaces.json"))
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.get("/entries/k").status == 404)
            #expect(try await server.get("/namespaces/default").member("version") == .null)
        }
    }

    @Test("a file that is newer, or cannot be read, stops the start, and nothing is removed")
    func refusedRegistry() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await server.putNamespace("a")
            let put = try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "kept")
            #expect(put.status == 200)
        }
        let path = directory.path("cache/namespaces.json")
        let written = try String(contentsOfFile: path, encoding: .utf8)
        try directory.write("{\"format\": 2}", to: "cache/namespaces.json")
        #expect(throws: NamespaceError.self) { try TestServer(directory: directory) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "{\"format\": 2}")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: NamespaceError.self) { try TestServer(directory: directory) }
        try FileManager.default.removeItem(atPath: path)
        try directory.write(written, to: "cache/namespaces.json")
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.inNamespace("a").get("/entries/k/content").text == "kept")
        }
    }
}
