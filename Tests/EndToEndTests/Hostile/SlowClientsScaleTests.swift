import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Clients that send as little as they can; `scripts/test` runs it after the other tests, with nothing beside it.
@Suite("2,000 slow clients", .serialized)
struct SlowClientsScaleTests {
    private static let count = 2000
    private static let hits = 3000

    @Test("hold their connections against it: others are served as fast, within twice the time, and all is given back")
    func slow() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let (client, port) = (larder.client, larder.port)
        _ = try await client.request("PUT", "/entries/a/content", text: String(repeating: "x", count: 1024))
        let idle = try Self.descriptors(of: larder)
        var ratios: [Double] = []
        for _ in 0..<3 {
            let alone = try await Self.p99(port: port)
            // Half of them in the head of a request, half in its body.
            let slow = try await blocking {
                try (0..<Self.count).map { number in
                    let connection = try RawConnection(port: port)
                    try connection.send(
                        number % 2 == 0
                            ? "GET /entries/a/content HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
                            : "PUT /entries/slow\(number)/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"
                    )
                    return connection
                }
            }
            let isOver = Locked(false)
            async let trickle: Void = blocking {
                // Each sends about a byte a second.
                let never = Gate("the next byte's time")
                for number in 0... {
                    if isOver.withLock(\.self) { return }
                    for place in 0..<20 { try slow[(number * 20 + place) % slow.count].send("x") }
                    try? never.waitBlocking(limit: .milliseconds(10))
                }
            }
            let beside = try await Self.p99(port: port)
            isOver.withLock { $0 = true }
            try await trickle
            for connection in slow { connection.close() }
            ratios.append(beside / alone)
        }
        #expect(ratios.sorted()[1] < 2, "\(ratios)")
        try await poll("connections to be given back") { try Self.descriptors(of: larder) <= idle + 16 }
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "of slowhttptest's, in the head, in the body and in reading: others are served as fast, within twice the time",
        arguments: [
            ["-H", "-u", "/entries/a/content"],
            ["-B", "-t", "PUT", "-s", "9999", "-u", "/entries/slow/content"],
            ["-X", "-n", "2", "-z", "32", "-w", "512", "-y", "1024", "-u", "/entries/large/content"],
        ])
    func slowHTTPTest(mode: [String]) async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        let (client, port) = (larder.client, larder.port)
        for (name, length) in [("a", 1 << 10), ("large", 1 << 20)] {
            _ = try await client.request("PUT", "/entries/\(name)/content", text: String(repeating: "x", count: length))
        }
        let idle = try Self.descriptors(of: larder)
        let alone = try await Self.medianP99(port: port)
        let url = "http://127.0.0.1:\(port)\(mode.last!)"
        let slow = try ChildProcess(
            "/usr/bin/env",
            ["slowhttptest", "-c", "\(Self.count)", "-r", "1000", "-i", "2", "-l", "60"] + mode.dropLast() + [url])
        try await poll("all of them to be connected") {
            if let exit = slow.hasExited {
                throw LarderProcess.Failure(description: "slowhttptest ended with \(exit): \(slow.output)")
            }
            return try Self.descriptors(of: larder) >= idle + Self.count
        }
        let beside = try await Self.medianP99(port: port)
        slow.kill(SIGTERM)
        _ = try await slow.wait()
        #expect(beside / alone < 2)
        try await poll("connections to be given back") { try Self.descriptors(of: larder) <= idle + 16 }
        #expect(try await larder.stop() == .status(0))
    }

    private static func medianP99(port: UInt16) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<3 { times.append(try await p99(port: port)) }
        return times.sorted()[1]
    }

    /// Of hits on one connection after the other, in seconds.
    private static func p99(port: UInt16) async throws -> Double {
        try await blocking {
            let connection = try RawConnection(port: port)
            defer { connection.close() }
            let times = try (0..<hits).map { _ in
                let start = ContinuousClock.now
                try connection.sendRequest("GET", "/entries/a/content")
                guard try connection.readReply().status == 200 else { throw CancellationError() }
                return (ContinuousClock.now - start).inSeconds
            }
            return times.sorted()[hits * 99 / 100]
        }
    }

    private static func descriptors(of larder: LarderProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(larder.process.pid)/fd").count
    }
}
