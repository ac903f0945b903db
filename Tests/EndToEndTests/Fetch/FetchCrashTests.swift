import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Kills the real executable with signal 9 while `/fetch` receives and stores bodies.
@Suite("Kills with signal 9 during misses", .serialized)
struct FetchCrashTests {
    private static let clients = 1000

    @Test("After a kill during 1,000 misses, no partial body is served", arguments: ["hashed", "readable"])
    func crash(layout: String) async throws {
        // When the server is killed, half of the answers are complete, and half are in the middle of their bodies.
        let halfSent = Counter("answers that are half sent")
        let origin = try ScriptedOrigin { request, connection in
            let number = Int(request.target.dropFirst(2)) ?? 0
            let body = Self.body(number)
            try connection.sendHead(fields: [.contentLength: String(body.count), .cacheControl: "max-age=3600"])
            try connection.send(body.prefix(body.count / 2))
            halfSent.add()
            if number.isMultiple(of: 2) { return connection.waitForHangUp() }
            try connection.send(body.dropFirst(body.count / 2))
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory("larder-fetch-crash")
        let path = directory.path("cache")
        let victim = try await LarderProcess(directory: path, arguments: ["--layout", layout])
        let whole = Counter("whole bodies")
        for number in 0..<Self.clients {
            startThread {
                guard let connection = try? RawConnection(port: victim.port, limit: .seconds(60)) else { return }
                try? connection.sendRequest("GET", "/fetch/" + origin.url("/f\(number)"))
                if (try? connection.readReply())?.body == Self.body(number) { whole.add() }
            }
        }
        try await halfSent.wait(for: Self.clients, limit: .seconds(60))
        try await whole.wait(for: Self.clients / 4, limit: .seconds(60))
        try await victim.crash()

        let survivor = try await LarderProcess(directory: path, arguments: ["--layout", layout])
        let held = try await survivor.client.withConnection { connection in
            var held = 0
            for number in 0..<Self.clients {
                try connection.sendRequest(
                    "GET", "/fetch/" + origin.url("/f\(number)"), fields: [.cacheControl: "only-if-cached"])
                let reply = try connection.readReply()
                switch reply.status {
                case 504: continue
                case 200 where reply.body == Self.body(number): held += 1
                default: Issue.record("/f\(number): \(reply.status), \(reply.body.count) bytes")
                }
            }
            return held
        }
        #expect(held > 0)
        #expect(held <= Self.clients / 2)
        #expect(try await survivor.stop() == .status(0))
        let verified = try await LarderProcess.verify(path)
        #expect(verified.exit == .status(0), "\(verified.text)")
    }

    /// Returns the body of the numbered answer. Short bodies end up in the slab, long bodies in files.
    private static func body(_ number: Int) -> [UInt8] {
        pattern(number % 4 == 1 ? 4_000 : 40_000, seed: number)
    }
}
