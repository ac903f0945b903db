import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The layouts of bodies on the disk")
struct LayoutTests {
    @Test("In the hashed layout, the key of an entry and the file name of a large body are the canonical URL's MD5")
    func hashed() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: String(repeating: "x", count: request.target == "/small" ? 100 : 100_000))
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for (path, isInline) in [("/small", true), ("/large", false)] {
                let spelled = "HTTP://127.0.0.1:\(origin.port)/x/..\(path)#fragment"
                let entry = try await server.download(["url": .string(spelled), "ttl": 60]).member("entry")
                let key = md5(origin.url(path))
                #expect(entry?["key"] == .string(key))
                let file = server.directory.path("cache/default/\(key.prefix(2))/\(key.dropFirst(2).prefix(2))/\(key)")
                #expect(entry?["localPath"] == (isInline ? .null : .string(file)))
                #expect(FileManager.default.fileExists(atPath: file) == !isInline)
            }
        }
    }

    @Test("In the hashed layout with an inline limit of 0 every body is a file")
    func withoutInline() async throws {
        try await TestServer.with(configure: { $0.inlineLimit = 0 }) { (server) async throws in
            let entry = try await server.put("note", Array("hi".utf8)).json
            let key = md5("note")
            let path = "cache/default/\(key.prefix(2))/\(key.dropFirst(2).prefix(2))/\(key)"
            #expect(entry["localPath"] == .string(server.directory.path(path)))
            #expect(try server.directory.read(path) == Array("hi".utf8))
        }
    }

    @Test("In the readable layout a body of any size is the file at the documented path")
    func readable() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                body: request.target + String(repeating: "x", count: request.target == "/big" ? 100_000 : 0))
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.layout = .readable }) { (server) async throws in
            let root = "cache/default/QUrlCaches/http/127.0.0.1_\(origin.port)"
            for (path, file) in [
                ("/", "@index"), ("/big", "big"), ("/docs/a.json", "docs/a.json"), ("/docs/", "docs/@index"),
                ("/q?b=1&a=2", "q?b=1&a=2"),
            ] {
                let entry = try await server.download(["url": .string(origin.url(path)), "ttl": 60]).member("entry")
                #expect(entry?["localPath"] == .string(server.directory.path("\(root)/\(file)")), "\(path)")
                let body = String(decoding: try server.directory.read("\(root)/\(file)"), as: UTF8.self)
                #expect(body.hasPrefix(path))
            }
            try await server.put("my note", Array("hi".utf8))
            #expect(try server.directory.read("cache/default/QDataCaches/my note") == Array("hi".utf8))
        }
    }

    @Test(
        "In the readable layout, the bodies of /a and /a/b are stored side by side, whichever of them is stored first",
        arguments: [["/a", "/a/b", "/a/b/c"], ["/a/b/c", "/a/b", "/a"]])
    func nested(paths: [String]) async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.layout = .readable }) {
            (server) async throws in
            for path in paths {
                #expect(try await server.download(["url": .string(origin.url(path)), "ttl": 60]).status == 200)
            }
        }
        // After a restart with another layout, the server still finds the bodies of the earlier layout.
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.layout = .hashed }) {
            (server) async throws in
            for path in paths {
                #expect(try await server.content(of: origin.url(path)) == path)
            }
        }
        let verified = try await LarderProcess.verify(directory.path("cache"))
        #expect(verified.exit == .status(0), "\(verified.text)")
    }
}

@Suite("Damaged bodies")
struct CorruptionTests {
    @Test(
        "A body with a flipped byte, a truncated body or a removed body is not served, and is downloaded again",
        arguments: ["flip", "truncate", "remove"])
    func damagedFile(how: String) async throws {
        let body = String(repeating: "precious ", count: 10_000)
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: body) }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        let url = origin.url("/\(how)")
        let call: JSON = ["url": .string(url), "ttl": 60]
        var path = ""
        // Without the memory tier every read uses the file.
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.memoryLimit = 0 }) {
            (server) async throws in
            let entry = try await server.download(call).member("entry")
            path = try #require(entry?["localPath"]?.stringValue)
            #expect(try await server.content(of: url) == body)
            try damage(path, how)
            #expect(try await server.get("/entries/\(md5(url))/content").status == 404)
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(try await server.content(of: url) == body)
            // A download notices damage that no read of the content has noticed before.
            try damage(path, how)
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(try await server.content(of: url) == body)
        }
        // The restarted server notices damage that happened while no server ran.
        try damage(path, how)
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            #expect(try await server.get("/entries/\(md5(url))/content").status == 404)
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(try await server.content(of: url) == body)
        }
    }

    @Test("The command larder verify finds a body that was damaged while the server was stopped")
    func verify() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            for number in 0..<3 { try await server.put("n\(number)", [UInt8](repeating: 1, count: 50_000)) }
        }
        let path = directory.path("cache")
        let clean = try await LarderProcess.verify(path)
        #expect(clean.exit == .status(0), "\(clean.text)")
        let key = md5("n1")
        try damage("\(path)/default/\(key.prefix(2))/\(key.dropFirst(2).prefix(2))/\(key)", "flip")
        let found = try await LarderProcess.verify(path)
        #expect(found.exit == .status(1), "\(found.text)")
        #expect(found.text.contains("n1"))
    }

    private func damage(_ path: String, _ how: String) throws {
        switch how {
        case "flip":
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: 5000)
            let byte = try file.read(upToCount: 1)!
            try file.seek(toOffset: 5000)
            try file.write(contentsOf: Data([byte[0] ^ 1]))
            try file.close()
        case "truncate": truncate(path, 100)
        default: try FileManager.default.removeItem(atPath: path)
        }
    }
}
