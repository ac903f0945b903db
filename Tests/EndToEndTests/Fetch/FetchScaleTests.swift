import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A thousand simultaneous clients. `scripts/test` runs this suite alone, after all other tests.
@Suite("/fetch for a thousand clients", .serialized)
struct FetchScaleTests {
    private static let clients = 1000

    @Test("1,000 clients share one origin request and read the first bytes before the origin sends the last bytes")
    func oneLargeAnswer() async throws {
        let (first, second) = (pattern(512 << 10, seed: 1), pattern(1 << 20, seed: 2))
        let everyoneHasBegun = Gate("every client has first bytes")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(
                fields: [.contentLength: String(first.count + second.count), .cacheControl: "max-age=60"])
            try connection.send(first)
            try everyoneHasBegun.waitBlocking(limit: .seconds(60))
            try connection.send(second)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let begun = Counter("clients with first bytes")
            let target = "/fetch/" + origin.url("/large")
            async let damaged = concurrently(Self.clients) { _ in
                try await HTTPClient(port: server.api.port, limit: .seconds(60)).withConnection { connection in
                    try connection.sendRequest("GET", target)
                    let head = try connection.readHead()
                    guard head.status == 200, try connection.read(first.count) == first else { return true }
                    begun.add()
                    return try connection.read(second.count) != second
                }
            }
            try await begun.wait(for: Self.clients, limit: .seconds(60))
            // Every client has received the first bytes, and the origin has not sent the last byte yet.
            everyoneHasBegun.open()
            #expect(try await damaged.allSatisfy { !$0 })
            #expect(origin.requestCount == 1)
        }
    }

    @Test("1,000 clients of a URL with private answers get an answer each, and no client waits for another client")
    func noQueueing() async throws {
        // The origin takes 300 ms of real time for each answer, because this test measures time.
        let origin = try ScriptedOrigin { request, connection in
            let tick = Gate("some time at the origin")
            try? tick.waitBlocking(limit: .milliseconds(300))
            try connection.respond(fields: [.cacheControl: "private"], body: "for request \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            var ratios: [Double] = []
            for _ in 0..<3 {
                let direct = try await Self.slowest(port: origin.port, target: "/a").time
                let asked = origin.requestCount
                let through = try await Self.slowest(port: server.api.port, target: "/fetch/" + origin.url("/b"))
                #expect(origin.requestCount - asked == Self.clients)
                #expect(Set(through.bodies).count == Self.clients)
                ratios.append(through.time.inSeconds / direct.inSeconds)
            }
            // A queue of clients would show in each round, and a busy machine in some.
            #expect(ratios.min()! < 3, "times with Larder, as multiples of the times without it: \(ratios)")
        }
    }

    /// Returns the longest time that a client waited for its answer, and all answers.
    private static func slowest(port: UInt16, target: String) async throws -> (time: Duration, bodies: [String]) {
        let replies = try await concurrently(clients) { _ in
            let start = ContinuousClock.now
            let reply = try await HTTPClient(port: port, limit: .seconds(60)).request("GET", target)
            return (ContinuousClock.now - start, reply.text)
        }
        return (replies.map(\.0).max() ?? .zero, replies.map(\.1))
    }
}

/// Returns `count` bytes that differ from seed to seed.
func pattern(_ count: Int, seed: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) ^ (seed &* 97)) }
}
