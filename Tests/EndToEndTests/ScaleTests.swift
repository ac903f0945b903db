import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Tests that take long or measure time. `scripts/test` runs this suite after the other tests, alone.
@Suite("Large bodies, many entries, many downloads", .serialized)
struct ScaleTests {
    /// A body of 1 GiB, which is never whole in memory. Every block of 1 MiB begins with its number.
    private static let blocks = 1024
    private static func block(_ number: Int) -> [UInt8] {
        var block = [UInt8](repeating: UInt8(number % 251), count: 1 << 20)
        withUnsafeBytes(of: UInt64(number).bigEndian) { block.replaceSubrange(0..<8, with: $0) }
        return block
    }

    @Test("A body of 1 GiB is served whole and in ranges to 8 clients, within the memory limit + 96 MiB")
    func gigabyte() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: String(Self.blocks << 20)])
            for number in 0..<Self.blocks { try connection.send(Self.block(number)) }
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed", "--memory-limit", "64MiB"])
        let call: JSON = ["url": .string(origin.url("/huge")), "ttl": 1000]
        let client = HTTPClient(port: larder.port, limit: .seconds(120))
        let reply = try await client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(try reply.member("entry", "contentLength") == .number(Self.blocks << 20))

        let path = "/entries/\(md5(origin.url("/huge")))/content"
        let damaged = try await concurrently(8) { number in
            try await client.withConnection { connection in
                // Half of the clients read the whole body, the other half read an eighth each.
                let isWhole = number % 2 == 0
                let first = isWhole ? 0 : Self.blocks / 8 * number
                let count = isWhole ? Self.blocks : Self.blocks / 8
                var fields: HTTPFields = [:]
                if !isWhole { fields[.range] = "bytes=\(first << 20)-\(((first + count) << 20) - 1)" }
                try connection.sendRequest("GET", path, fields: fields)
                let head = try connection.readHead()
                guard head.status == (isWhole ? 200 : 206) else { return ["status \(head.status)"] }
                var damaged: [String] = []
                for block in first..<first + count where try connection.read(1 << 20) != Self.block(block) {
                    damaged.append("client \(number), block \(block)")
                }
                return damaged
            }
        }
        #expect(damaged.flatMap { $0 } == [])
        let peak = larder.peakResidentBytes
        #expect(peak < (64 + 96) << 20, "peak \(peak >> 20) MiB")
        #expect(try await larder.stop() == .status(0))
    }

    @Test("100 simultaneous downloads, each of one second, end in under 3 seconds")
    func hundredSlowURLs() async throws {
        // The origin takes a second of real time, because this test measures time.
        let origin = try ScriptedOrigin { request, connection in
            let tick = Gate("one second at the origin")
            try? tick.waitBlocking(limit: .seconds(1))
            try connection.respond(body: request.target)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let start = ContinuousClock.now
            let replies = try await concurrently(100) { number in
                try await server.download(["url": .string(origin.url("/\(number)")), "ttl": 60])
            }
            let elapsed = ContinuousClock.now - start
            #expect(replies.allSatisfy { $0.status == 200 })
            #expect(origin.requestCount == 100)
            #expect(elapsed >= .seconds(1))
            #expect(elapsed < .seconds(3), "\(elapsed)")
        }
    }

    @Test("Of 100,000 entries, each is listed once while other entries change, and a start takes under a second")
    func hundredThousand() async throws {
        let directory = try TemporaryDirectory()
        let count = 100_000
        let clock = ManualClock()
        try await TestServer.with(clock: clock, directory: directory) { server in
            _ = try await concurrently(8) { worker in
                try await server.client.withConnection { connection in
                    for number in stride(from: worker, to: count, by: 8) {
                        try connection.sendRequest(
                            "PUT", "/entries/stable-\(number)/content", body: Array("body \(number)".utf8))
                        guard try connection.readReply().status == 200 else {
                            throw LarderProcess.Failure(description: "PUT")
                        }
                    }
                }
            }
        }
        let start = ContinuousClock.now
        let server = try TestServer(clock: clock, directory: directory)
        let first = try await server.get("/entries?limit=1")
        let elapsed = ContinuousClock.now - start
        #expect(first.status == 200)
        #expect(elapsed < .seconds(1), "\(elapsed)")

        let isDone = Gate("paging done")
        async let churned = server.client.withConnection { connection in
            var number = 0
            while !isDone.isOpen || number < 100 {
                try connection.sendRequest("PUT", "/entries/churn-\(number % 50)/content", body: [1])
                guard try connection.readReply().status == 200 else { throw LarderProcess.Failure(description: "PUT") }
                try connection.sendRequest("DELETE", "/entries/churn-\(number % 50)")
                guard try connection.readReply().status == 200 else {
                    throw LarderProcess.Failure(description: "DELETE")
                }
                number += 1
            }
            return number
        }
        let seen = try await server.client.withConnection { connection in
            var seen: [String] = []
            var cursor: String?
            repeat {
                let query = "limit=1000" + (cursor.map { "&cursor=\($0.percentEncoded)" } ?? "")
                try connection.sendRequest("GET", "/entries?\(query)")
                let page = try connection.readReply().json
                seen += page["entries"]?.arrayValue?.compactMap { $0["key"]?.stringValue } ?? []
                cursor = page["nextCursor"]?.stringValue
            } while cursor != nil
            return seen
        }
        isDone.open()
        #expect(try await churned >= 100)
        let stable = seen.filter { $0.hasPrefix("stable-") }
        #expect(stable.count == count)
        #expect(Set(stable).count == count)
        #expect(Set(seen).count == seen.count)
        try await server.stop()
    }
}
