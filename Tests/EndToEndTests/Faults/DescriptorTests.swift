import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The limit of file descriptors")
struct DescriptorTests {
    /// The lowest free descriptor number of the process. With this number as the limit, the process gets no further
    /// descriptor.
    private static func lowestFree(_ larder: LarderProcess) throws -> Int {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(larder.process.pid)/fd")
        let numbers = Set(open.compactMap { Int($0) })
        return (0...).first { !numbers.contains($0) }!
    }

    @Test("A start with too few descriptors fails with an error that names the limit", arguments: [8, 16, 24, 48, 64])
    func tooFew(limit: Int) async throws {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(
            "sh",
            [
                "-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", LarderProcess.executable, "serve", "--port", "0",
                "--directory", directory.path("cache"),
            ], environment: ["LARDER_CONFIG": nil])
        #expect(try await process.wait() == .status(1))
        #expect(process.output.hasPrefix("Error: the limit of open files is \(limit)"))
    }

    @Test("The lowest limit that permits a start suffices to store and read an entry")
    func fewest() async throws {
        let directory = try TemporaryDirectory()
        let limit = 80 + 4 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let larder = try await LarderProcess(
            directory: directory.path("cache"), wrapper: ["sh", "-c", "ulimit -n \(limit); exec \"$0\" \"$@\""])
        #expect(try await larder.client.request("PUT", "/entries/a/content", text: "hi").status == 200)
        #expect(try await larder.client.request("GET", "/entries/a/content").text == "hi")
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A call that needs a descriptor when none is free fails, loses no entry, and succeeds after the limit rises")
    func exhausted() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        // Every body is a file, and the server opens the file for each read.
        let larder = try await LarderProcess(
            directory: directory.path("cache"),
            arguments: ["--layout", "hashed", "--inline-limit", "0", "--memory-limit", "0"])
        let body = [UInt8](repeating: 9, count: 50_000)
        #expect(try await larder.client.request("PUT", "/entries/held/content", body: body).status == 200)
        let early = try await blocking {
            let early = try RawConnection(port: larder.port)
            try early.sendRequest("GET", "/livez")
            #expect(try early.readReply().status == 200)
            return early
        }
        try await larder.setLimit("nofile", try Self.lowestFree(larder))
        let late = try await blocking {
            func ask(_ method: String, _ target: String, _ fields: HTTPFields = [:], _ body: [UInt8] = []) throws
                -> HTTPReply
            {
                try early.sendRequest(method, target, fields: fields, body: body)
                return try early.readReply()
            }
            #expect(try ask("GET", "/entries/held").status == 200)
            #expect(try ask("GET", "/stats").status == 200)
            let read = try ask("GET", "/entries/held/content")
            #expect(read.status == 500, "\(read.head)")
            #expect(read.text.contains("Too many open files"), "\(read.text)")
            let stored = try ask("PUT", "/entries/held/content", [:], [1])
            #expect(stored.status == 500, "\(stored.head)")
            #expect(stored.text.contains("Too many open files"), "\(stored.text)")
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 60]
            let download = try ask("POST", "/download", [.contentType: "application/json"], call.utf8)
            #expect(download.status >= 500, "\(download.text)")
            let fetched = try ask("GET", "/fetch/" + origin.url("/b"))
            #expect(fetched.status >= 500, "\(fetched.text)")
            // The server has no descriptor to accept this connection, so the connection waits in the kernel's queue.
            let late = try RawConnection(port: larder.port)
            try late.sendRequest("GET", "/entries/held/content")
            return late
        }
        try await larder.setLimit("nofile", 4096)
        try await blocking {
            let reply = try late.readReply()
            #expect(reply.status == 200)
            #expect(reply.body == body)
        }
        #expect(try await larder.client.request("GET", "/fetch/" + origin.url("/b")).text == "/b")
        #expect(try await larder.client.request("PUT", "/entries/held/content", body: [1]).status == 200)
        #expect(try await larder.client.request("GET", "/entries/held/content").body == [1])
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }
}
