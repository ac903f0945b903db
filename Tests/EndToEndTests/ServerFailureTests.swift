import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Failures of the server itself")
struct ServerFailureTests {
    @Test("When pinned entries fill the disk limit, downloads and uploads get 507 until a pinned entry is removed")
    func diskLimit() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(body: String(repeating: "x", count: 600_000))
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.diskLimit = 1 << 20 }) { (server) async throws in
            let body = [UInt8](repeating: 1, count: 600_000)
            #expect(try await server.put("pinned", body, query: "pinned=true").status == 200)
            let upload = try await server.put("more", body)
            #expect(upload.status == 507)
            #expect(try upload.member("detail")?.stringValue?.contains("--disk-limit") == true)
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 60]
            #expect(try await server.download(call).status == 507)
            #expect(try await server.get("/entries").member("entries")?.arrayValue?.count == 1)
            #expect(try await server.get("/entries/pinned/content").body == body)
            #expect(try await server.client.request("DELETE", "/entries/pinned").status == 200)
            #expect(try await server.download(call).status == 200)
        }
    }

    @Test(
        "On a full disk, a PUT gets 507 and causes a log line; stored entries are served, and a removal makes room",
        .enabled(if: canMount, "it needs a file system of its own"))
    func fullDisk() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed"],
            wrapper: [
                "unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=32m tmpfs \"$0\" && exec \"$@\"", directory.path,
            ])
        let body = [UInt8](repeating: 1, count: 2 << 20)
        var statuses: [Int] = []
        while statuses.count < 20, statuses.last ?? 200 == 200 {
            let path = "/entries/n\(statuses.count)/content?pinned=true"
            statuses.append(try await larder.client.request("PUT", path, body: body).status)
        }
        #expect(statuses.last == 507)
        #expect(statuses.count > 4)
        let failed = larder.logLines("request failed")
        #expect(failed.map { $0["status"] } == [507])
        #expect(failed.first?["operation"] == "putContent")
        #expect(failed.first?["level"] == "error")
        #expect(try await larder.client.request("GET", "/entries/n0/content").body == body)
        for number in 0..<2 {
            #expect(try await larder.client.request("DELETE", "/entries/n\(number)").status == 200)
        }
        #expect(try await larder.client.request("PUT", "/entries/again/content", body: body).status == 200)
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A limit of a namespace that is reached causes a 507, but no log line, because the server has not failed")
    func callersLimit() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--state-directory", directory.path("state")])
        var statuses: [Int] = []
        for number in 0...256 {
            let reply = try await larder.client.request(
                "PUT", "/credentials/key-\(number)", fields: [.contentType: "application/json"],
                text: #"{"origins": ["https://example.com"], "headers": {"Cookie": "a"}}"#)
            statuses.append(reply.status)
        }
        #expect(statuses.last == 507 && Set(statuses.dropLast()) == [200])
        #expect(try await larder.stop() == .status(0))
        #expect(larder.logLines("request failed").isEmpty)
    }

    @Test(
        "If the disk fills up during 100 stores, each gets 507 or stores a whole body; with new room, stores succeed",
        .enabled(if: canMount, "it needs a file system of its own"))
    func fullDiskInTheMiddle() async throws {
        let body = [UInt8](repeating: 7, count: 400 << 10)
        // The origin's answer states no length, so the server cannot refuse the answer before the disk is full.
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.connection: "close"])
            for start in stride(from: 0, to: body.count, by: 64 << 10) {
                try connection.send(body[start..<min(body.count, start + 64 << 10)])
            }
            connection.close()
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed", "--disk-reserve", "0"],
            wrapper: [
                "unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=48m tmpfs \"$0\" && exec \"$@\"", directory.path,
            ])
        let client = larder.client
        @Sendable func store(_ number: Int) async throws -> (status: Int, path: String) {
            let path = "/entries/n\(number)/content"
            switch number % 3 {
            case 0:
                return (try await client.request("PUT", path + "?pinned=true", body: body).status, path)
            case 1:
                let status = try await client.withConnection { connection in
                    try connection.send("PUT \(path)?pinned=true HTTP/1.1\r\nHost: localhost\r\n")
                    try connection.send("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
                    for start in stride(from: 0, to: body.count, by: 64 << 10) {
                        let chunk = body[start..<min(body.count, start + 64 << 10)]
                        try connection.send("\(String(chunk.count, radix: 16))\r\n")
                        try connection.send(Array(chunk) + [0x0d, 0x0a])
                    }
                    try connection.send("0\r\n\r\n")
                    return try connection.readReply().status
                }
                return (status, path)
            default:
                let url = origin.url("/\(number)")
                let json: JSON = ["url": .string(url), "ttl": 60, "pinned": true]
                let reply = try await client.request(
                    "POST", "/download", fields: [.contentType: "application/json"], body: json.utf8)
                return (reply.status, "/entries/\(md5(url))/content")
            }
        }
        // The stores and a file of the test fill the disk together. The file is so large from the start that 100
        // bodies do not fit.
        let foreign = "/proc/\(larder.process.pid)/root\(directory.path("foreign"))"
        try await blocking { try Data(repeating: 1, count: 16 << 20).write(to: URL(fileURLWithPath: foreign)) }
        async let filled: Void = blocking {
            guard let file = FileHandle(forWritingAtPath: foreign) else { return }
            defer { try? file.close() }
            _ = try file.seekToEnd()
            // This write fails if the stores have filled the disk first.
            try? file.write(contentsOf: Data(repeating: 1, count: 4 << 20))
        }
        let stored = try await concurrently(100) { try await store($0) }
        _ = try await filled
        #expect(Set(stored.map(\.status)) == [200, 507])
        for (status, path) in stored {
            let reply = try await client.request("GET", path)
            #expect(reply.status == (status == 200 ? 200 : 404), "\(path)")
            #expect(status != 200 || reply.body == body, "\(path)")
        }
        #expect(try await client.request("GET", "/readyz").status == 200)
        // The file is truncated, because a removed file keeps its room while another test's child process has it
        // open.
        #expect(truncate(foreign, 0) == 0)
        for number in 200..<230 { #expect(try await store(number).status == 200, "\(number)") }
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "If the index file is removed, a PUT gets 500 without Retry-After and is logged, and /readyz reports not ready"
    )
    func lostIndex() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        try FileManager.default.removeItem(atPath: directory.path("cache/default/index.sqlite"))
        let reply = try await larder.client.request("PUT", "/entries/note/content", text: "hi")
        #expect(reply.status == 500)
        #expect(reply.fields[.retryAfter] == nil)
        let failed = larder.logLines("request failed")
        #expect(failed.map { $0["operation"] } == ["putContent"])
        #expect(failed.first?["reason"]?.stringValue?.contains("restart") == true)
        #expect(try await larder.client.request("GET", "/readyz").status == 503)
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A file in place of a directory of the cache causes a 500 and a log line with the system's error text")
    func brokenDirectory() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed", "--inline-limit", "0"])
        // Every body begins as a file in this directory.
        let incoming = directory.path("cache/default/incoming")
        try FileManager.default.moveItem(atPath: incoming, toPath: incoming + ".away")
        try directory.write("in the way", to: "cache/default/incoming")
        let reply = try await larder.client.request("PUT", "/entries/note/content", text: "hi")
        #expect(reply.status == 500)
        #expect(try reply.member("detail")?.stringValue?.contains("Not a directory") == true, "\(reply.text)")
        let failed = larder.logLines("request failed")
        #expect(failed.map { $0["status"] } == [500])
        #expect(failed.first?["operation"] == "putContent")
        #expect(failed.first?["reason"]?.stringValue?.contains("Not a directory") == true)
        try FileManager.default.removeItem(atPath: incoming)
        try FileManager.default.moveItem(atPath: incoming + ".away", toPath: incoming)
        #expect(try await larder.client.request("PUT", "/entries/note/content", text: "hi").status == 200)
        #expect(try await larder.stop() == .status(0))
    }

    /// Whether this machine lets a process mount a file system that only the process sees.
    private static let canMount =
        (try? ChildProcess.run("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).exit) == .status(0)
}
