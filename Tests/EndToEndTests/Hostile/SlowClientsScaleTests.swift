import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Clients that send as little as possible. `scripts/test` runs this suite alone, after all other tests.
///
/// The test compares the time of hits on the attacked server with the time of hits on a second server without slow
/// clients. Both servers lose the processor time that the slow clients themselves take. A separate limit applies to
/// the attacked server's processor time for each piece of a message that a slow client sends or receives.
@Suite("2,000 slow clients", .serialized)
struct SlowClientsScaleTests {
    private static let count = 2000
    /// The number of hits in a round, small enough that all rounds end before the server cuts slow clients off, 20 s
    /// after they connected.
    private static let hits = 1000

    /// The limit of the processor time for a piece, as a multiple of the time for a hit. For a piece, the server runs
    /// its event loop once and reads; for a piece of a body, it also writes a file.
    private static let hitsOfPiece = 4.0
    /// The seconds that a client of slowhttptest waits between two pieces that it sends or receives. The server notices
    /// that a client has received a piece only when the socket has room for more bytes.
    private static let interval = 2

    @Test("Slow clients at most double the time of other clients' hits, and leave no descriptor open")
    func slow() async throws {
        let directory = try TemporaryDirectory()
        let (larder, other) = try await Self.servers(in: directory)
        let port = larder.port
        let idle = try Self.descriptors(of: larder)
        // Half of the clients stop in the head of a request, half in its body.
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
        let pieces = Locked(0)
        async let trickle: Void = blocking {
            // Each client sends about a byte a second.
            let never = Gate("the next byte's time")
            for number in 0... {
                if isOver.withLock(\.self) { return }
                for place in 0..<20 { try slow[(number * 20 + place) % slow.count].send("x") }
                pieces.withLock { $0 += 20 }
                try? never.waitBlocking(limit: .milliseconds(10))
            }
        }
        // The flag ends the trickle also after an error, because the test waits for the trickle's end.
        defer { isOver.withLock { $0 = true } }
        // A client in the middle of a body takes two descriptors: its socket and a file.
        let descriptors = Self.count * 3 / 2
        try await poll("all slow clients to be served") { try Self.descriptors(of: larder) >= idle + descriptors }
        let cost = try await Self.cost(of: larder, beside: other) { pieces.withLock { Double($0) } }
        let held = try Self.descriptors(of: larder) - idle
        isOver.withLock { $0 = true }
        try await trickle
        for connection in slow { connection.close() }
        #expect(held >= descriptors, "they were there until the end")
        #expect(cost.p99 < 2)
        #expect(cost.hitsOfPiece < Self.hitsOfPiece)
        try await poll("the connections to be closed") { try Self.descriptors(of: larder) <= idle + 16 }
        #expect(try await larder.stop() == .status(0))
        #expect(try await other.stop() == .status(0))
    }

    @Test(
        "Slow heads, bodies and reads of the tool slowhttptest at most double the time of other clients' hits",
        arguments: [
            ["-H", "-u", "/entries/a/content"],
            ["-B", "-t", "PUT", "-s", "9999", "-u", "/entries/slow/content"],
            ["-X", "-n", "\(interval)", "-z", "32", "-w", "512", "-y", "1024", "-u", "/entries/large/content"],
        ])
    func slowHTTPTest(mode: [String]) async throws {
        let directory = try TemporaryDirectory()
        let (larder, other) = try await Self.servers(in: directory)
        let idle = try Self.descriptors(of: larder)
        let url = "http://127.0.0.1:\(larder.port)\(mode.last!)"
        let slow = try ChildProcess(
            "/usr/bin/env",
            ["slowhttptest", "-c", "\(Self.count)", "-r", "1000", "-i", "\(Self.interval)", "-l", "60"]
                + mode.dropLast() + [url])
        // The measurement begins after all clients have connected. A client that sends a body also takes a file.
        let descriptors = mode.contains("-B") ? 2 * Self.count : Self.count
        try await poll("all slow clients to be connected") {
            if let exit = slow.hasExited {
                throw LarderProcess.Failure(description: "slowhttptest ended with \(exit): \(slow.output)")
            }
            return try Self.descriptors(of: larder) >= idle + descriptors
        }
        let start = ContinuousClock.now
        let cost = try await Self.cost(of: larder, beside: other) {
            (ContinuousClock.now - start).inSeconds * Double(Self.count / Self.interval)
        }
        let held = try Self.descriptors(of: larder) - idle
        slow.kill(SIGTERM)
        _ = try await slow.wait()
        #expect(held >= descriptors, "they were there until the end")
        #expect(cost.p99 < 2)
        #expect(cost.hitsOfPiece < Self.hitsOfPiece)
        try await poll("the connections to be closed") { try Self.descriptors(of: larder) <= idle + 16 }
        #expect(try await larder.stop() == .status(0))
        #expect(try await other.stop() == .status(0))
    }

    /// Starts the attacked server and the other server, with the same content.
    private static func servers(
        in directory: TemporaryDirectory
    ) async throws -> (attacked: LarderProcess, other: LarderProcess) {
        let attacked = try await LarderProcess(directory: directory.path("attacked"))
        let other = try await LarderProcess(directory: directory.path("other"))
        for larder in [attacked, other] {
            for (name, length) in [("a", 1 << 10), ("large", 1 << 20)] {
                let text = String(repeating: "x", count: length)
                _ = try await larder.client.request("PUT", "/entries/\(name)/content", text: text)
            }
        }
        return (attacked, other)
    }

    /// Measures the p99 of hits on `larder` and on `other` in turn, nine times. Returns the median of the nine ratios,
    /// and the processor time of a piece divided by that of a hit. `pieces` returns the number of pieces so far.
    private static func cost(
        of larder: LarderProcess, beside other: LarderProcess, pieces: () -> Double
    ) async throws -> (p99: Double, hitsOfPiece: Double) {
        let rounds = 9
        var ratios: [Double] = []
        let before = try (ticks(of: larder), ticks(of: other), pieces())
        for _ in 0..<rounds { ratios.append(try await p99(port: larder.port) / p99(port: other.port)) }
        let after = try (ticks(of: larder), ticks(of: other), pieces())
        let ofHits = after.1 - before.1
        let ofPiece = (after.0 - before.0 - ofHits) / (after.2 - before.2)
        return (ratios.sorted()[rounds / 2], ofPiece / (ofHits / Double(rounds * hits)))
    }

    /// Returns the processor time that a server has taken, in the kernel's unit (proc_pid_stat(5): `utime` and
    /// `stime`).
    private static func ticks(of larder: LarderProcess) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(larder.process.pid)/stat", encoding: .utf8)
        let fields = try #require(text.split(separator: ")").last).split(separator: " ")
        return try #require(Double(fields[11])) + #require(Double(fields[12]))
    }

    /// Returns the p99 of hits in seconds. The hits run in turn on a single connection.
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
