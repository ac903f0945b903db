import Foundation
import HTTPTypes
import TestSupport
import Testing

@Suite("The command larder verify")
struct VerifyCommandTests {
    @Test("The command larder verify reports an index that it cannot read, and leaves it unchanged")
    func unreadableIndex() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        _ = try await larder.client.request("PUT", "/entries/note/content", text: "hi")
        _ = try await larder.stop()
        let noise = [UInt8](repeating: 0x55, count: 8192)
        try directory.write(noise, to: "cache/default/index.sqlite")
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(1))
        #expect(try directory.read("cache/default/index.sqlite") == noise)
        // The server sets the index aside, and starts empty.
        let again = try await LarderProcess(directory: directory.path("cache"))
        #expect(try await again.client.request("GET", "/entries/note").status == 404)
        _ = try await again.stop()
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path("cache/default"))
        #expect(names.contains { $0.hasPrefix("index.sqlite.corrupt-") }, "\(names)")
    }

    @Test("If larder verify cannot open a file of the cache, it exits with 2, and not with 1 as for damage")
    func verifyWithoutAccess() async throws {
        for name in ["bodies.slab", "index.sqlite"] {
            let directory = try TemporaryDirectory()
            let larder = try await LarderProcess(directory: directory.path("cache"), arguments: ["--layout", "hashed"])
            _ = try await larder.client.request("PUT", "/entries/note/content", text: "hi")
            _ = try await larder.stop()
            // No user, not even root, can open a directory as a file.
            let path = directory.path("cache/default/\(name)")
            try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let verify = try await LarderProcess.verify(directory.path("cache"))
            #expect(verify.exit == .status(2), "\(name): \(verify.text)")
            #expect(verify.text.hasPrefix("the cache cannot be checked: "), "\(verify.text)")
        }
    }

    @Test("The command larder verify evicts no entry, even if its own disk limit is lower than the size of the cache")
    func verifyAboveLimit() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("cache")
        let larder = try await LarderProcess(directory: path)
        let body = String(repeating: "x", count: 300_000)
        for number in 0..<8 { _ = try await larder.client.request("PUT", "/entries/n\(number)/content", text: body) }
        _ = try await larder.stop()
        for _ in 0..<2 {
            let verify = try ChildProcess(
                LarderProcess.executable, ["verify", "--directory", path], environment: ["LARDER_DISK_LIMIT": "1MiB"])
            #expect(try await verify.wait() == .status(0))
            #expect(verify.output.contains("8 bodies checked"), "\(verify.output)")
        }
    }

    @Test("The command larder verify refuses a directory that is not a cache, and leaves it unchanged")
    func verifyForeignDirectory() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("mine", to: "thesis.txt")
        for path in [directory.path, directory.path("missing")] {
            let verify = try ChildProcess(LarderProcess.executable, ["verify", "--directory", path])
            #expect(try await verify.wait() == .status(64))
            #expect(verify.output.contains("\(path) contains no cache"), "\(verify.output)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["thesis.txt"])
    }
}
