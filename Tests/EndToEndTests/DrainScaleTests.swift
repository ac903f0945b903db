import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Stops the server under load. `scripts/test` runs this suite after the other tests, alone.
@Suite("SIGTERM during 500 requests and 20 downloads", .serialized)
struct DrainScaleTests {
    private static let downloads = 20
    private static let large = [UInt8](repeating: 0x6c, count: 8 << 20)
    private static let upload = [UInt8](repeating: 0x75, count: 20_000)

    /// A client in the middle of its request or of its answer.
    private struct Pending: Sendable {
        let connection: RawConnection
        /// The kind and the number of the call, for the message of a failure.
        let what: String
        /// Finishes the exchange, and returns whether the answer is as expected.
        let finish: @Sendable (RawConnection) throws -> Bool
    }

    /// Finishes all exchanges, and returns the failures that the clients saw. If an answer began before the drain, its
    /// connection stays open until the drain ends, which waits for all answers. So the function reads all answers
    /// first, and then each connection to its end. A reset is a failure.
    private static func finish(_ pending: [Pending]) -> [String] {
        let answers = failures(of: pending) { client in
            try client.finish(client.connection) ? nil : "the answer is not the expected answer"
        }
        let ends = failures(of: pending) { client in
            try client.connection.readToEnd() == [] ? nil : "bytes came behind the answer"
        }
        return answers + ends
    }

    private static func failures(of pending: [Pending], _ failure: (Pending) throws -> String?) -> [String] {
        pending.compactMap { client in
            do {
                return try failure(client).map { "\(client.what): \($0)" }
            } catch {
                return "\(client.what): \(error)"
            }
        }
    }

    /// Begins 500 requests: 200 wait for a download, 100 wait for a fetch, 100 are in the middle of an upload, and 100
    /// have read no more than the head of a large answer.
    private static func begin(_ origin: ScriptedOrigin, port: UInt16) throws -> [Pending] {
        let calls = try (0..<200).map { number in
            let call: JSON = ["url": .string(origin.url("/d\(number % downloads)"))]
            let connection = try RawConnection(port: port)
            try connection.sendRequest("POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
            return Pending(connection: connection, what: "download \(number)") { connection in
                let reply = try connection.readReply()
                return try reply.status == 200 && reply.member("entry", "contentLength") == 10
            }
        }
        let fetches = try (0..<100).map { number in
            let connection = try RawConnection(port: port)
            try connection.sendRequest("GET", "/fetch/\(origin.url("/f"))")
            return Pending(connection: connection, what: "fetch \(number)") { connection in
                let reply = try connection.readReply()
                return reply.status == 200 && reply.text == "0123456789"
            }
        }
        let uploads = try (0..<100).map { number in
            let connection = try RawConnection(port: port)
            try connection.send("PUT /entries/u\(number)/content HTTP/1.1\r\nHost: localhost\r\n")
            try connection.send("Content-Length: \(upload.count)\r\n\r\n")
            try connection.send(upload.prefix(upload.count / 2))
            return Pending(connection: connection, what: "upload \(number)") { connection in
                try connection.send(upload.suffix(upload.count / 2))
                return try connection.readReply().status == 200
            }
        }
        let reads = try (0..<100).map { number in
            let connection = try RawConnection(port: port)
            try connection.sendRequest("GET", "/entries/large/content")
            guard try connection.readHead().status == 200 else { throw CancellationError() }
            return Pending(connection: connection, what: "read \(number)") { connection in
                try connection.read(large.count) == large
            }
        }
        return calls + fetches + uploads + reads
    }

    @Test(
        "After SIGTERM, /readyz answers 503, no request in flight is lost or reset, and acknowledged changes are stored"
    )
    func drain() async throws {
        let mayEnd = Gate("the rest of every body at the origin")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "10", .cacheControl: "max-age=1000"])
            try connection.send("01234")
            try mayEnd.waitBlocking(limit: .seconds(60))
            try connection.send("56789")
        }
        defer {
            mayEnd.open()
            origin.stop()
        }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--drain-delay", "5", "--drain-timeout", "60"])
        let (client, port) = (larder.client, larder.port)
        _ = try await client.request("PUT", "/entries/large/content", body: Self.large)
        let pending = try await blocking { try Self.begin(origin, port: port) }
        #expect(pending.count == 500)
        try await origin.waitForRequests(Self.downloads + 1)

        // Four other clients send one request after another, before and during the drain delay.
        let isOver = Locked(false)
        async let hits = concurrently(4) { _ in try await Self.ask(port: port) { isOver.withLock(\.self) } }
        #expect(try await client.request("GET", "/readyz").status == 200)
        let start = ContinuousClock.now
        larder.process.kill(SIGTERM)
        var reply = try await client.request("GET", "/readyz")
        while reply.status == 200 { reply = try await client.request("GET", "/readyz") }
        #expect(reply.status == 503)
        #expect(try reply.member("status") == "draining")
        // During the drain delay, the server still serves clients that have not seen the 503 of `/readyz`.
        #expect(try await client.request("GET", "/livez").status == 200)
        isOver.withLock { $0 = true }
        for count in try await hits { #expect(count > 0) }

        try await blocking {
            try pollBlocking("the server to refuse connections") { (try? RawConnection(port: port)) == nil }
        }
        #expect(larder.process.hasExited == nil)
        mayEnd.open()
        let failures = try await blocking { Self.finish(pending) }
        #expect(failures == [])
        #expect(try await larder.process.wait() == .status(0))
        #expect(ContinuousClock.now - start < .seconds(65))

        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
        let again = try await LarderProcess(directory: directory.path("cache"))
        for number in 0..<100 {
            let reply = try await again.client.request("GET", "/entries/u\(number)/content")
            #expect(reply.body == Self.upload, "upload \(number)")
        }
        for number in 0..<Self.downloads {
            let call: JSON = ["url": .string(origin.url("/d\(number)"))]
            let reply = try await again.client.request(
                "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
            #expect(try reply.member("outcome") == "cached")
        }
        #expect(origin.requestCount == Self.downloads + 1)
        #expect(try await again.stop() == .status(0))
    }

    /// Requests a part of an entry again and again. Opens a new connection after an answer with `Connection: close`.
    /// Returns the number of answers. Throws when an answer is missing or wrong.
    private static func ask(port: UInt16, until isOver: @escaping @Sendable () -> Bool) async throws -> Int {
        try await blocking {
            var count = 0
            while !isOver() {
                let connection = try RawConnection(port: port)
                var closes = false
                while !closes, !isOver() {
                    try connection.sendRequest("GET", "/entries/large/content", fields: [.range: "bytes=0-99"])
                    let reply = try connection.readReply()
                    guard reply.status == 206, reply.body == Array(large.prefix(100)) else { throw CancellationError() }
                    closes = reply["Connection"]?.lowercased() == "close"
                    count += 1
                }
                connection.close()
            }
            return count
        }
    }
}
