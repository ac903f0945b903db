import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite(
    "A read-only disk",
    .enabled(if: getuid() == 0, "only root can mount a file system"))
struct ReadOnlyDiskTests {
    private static let words = "Read-only file system"
    private let large = [UInt8](repeating: 5, count: 100_000)

    @Test(
        "The server and larder verify refuse a read-only disk with a reason, and find all entries once it is writable")
    func atStart() async throws {
        guard let disk = try SmallDisk(size: "32m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let path = disk.mount.path("cache")
        let first = try await LarderProcess(directory: path)
        #expect(try await first.client.request("PUT", "/entries/large/content", body: large).status == 200)
        #expect(try await first.client.request("PUT", "/entries/small/content", text: "small").status == 200)
        #expect(try await first.stop() == .status(0))
        try #require(disk.setReadOnly(true))
        for (arguments, status) in [
            (["serve", "--port", "0", "--directory", path], 1), (["verify", "--directory", path], 2),
        ] as [([String], Int32)] {
            let output = try await blocking { try ChildProcess.run(LarderProcess.executable, arguments) }
            #expect(output.exit == .status(status), "\(arguments): \(output.exit)")
            #expect(output.text.contains(Self.words), "\(output.text)")
        }
        try #require(disk.setReadOnly(false))
        let second = try await LarderProcess(directory: path)
        #expect(try await second.client.request("GET", "/entries/large/content").body == large)
        #expect(try await second.client.request("GET", "/entries/small/content").text == "small")
        #expect(try await second.stop() == .status(0))
        #expect(try await LarderProcess.verify(path).exit == .status(0))
    }

    @Test("When the disk becomes read-only, stores and downloads get 500, and stored entries are still served")
    func meanwhile() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: request.target)
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed", "--inline-limit", "0"])
        let client = larder.client
        #expect(try await client.request("PUT", "/entries/large/content", body: large).status == 200)
        // The server creates the files of new bodies in this folder, which the mount makes read-only.
        let incoming = directory.path("cache/default/incoming")
        let mounted = try await blocking {
            try ChildProcess.run(
                "sh", ["-c", "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"", incoming])
        }
        guard mounted.exit == .status(0) else {
            return withKnownIssue("no file system could be mounted") { Issue.record("\(mounted.text)") }
        }
        defer { _ = try? ChildProcess.run("umount", ["-l", incoming]) }

        for key in ["large", "new"] {
            let reply = try await client.request("PUT", "/entries/\(key)/content", body: [1, 2, 3])
            #expect(reply.status == 500)
            #expect(try reply.member("detail")?.stringValue?.contains(Self.words) == true, "\(reply.text)")
        }
        let call: JSON = ["url": .string(origin.url("/a")), "ttl": 60]
        let download = try await client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
        #expect(download.status == 500, "\(download.text)")
        // The gateway can still pass on a response that it cannot store.
        let fetched = try await client.request("GET", "/fetch/" + origin.url("/b"))
        #expect(fetched.status == 200, "\(fetched.head)")
        #expect(fetched.text == "/b")
        #expect(try await client.request("GET", "/entries/large/content").body == large)
        #expect(try await client.request("GET", "/entries").member("entries")?.arrayValue?.count == 1)
        #expect(!larder.logLines("request failed").isEmpty)

        #expect(try await blocking { try ChildProcess.run("umount", ["-l", incoming]) }.exit == .status(0))
        #expect(try await client.request("PUT", "/entries/new/content", body: [1, 2, 3]).status == 200)
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }
}
