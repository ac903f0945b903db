import Foundation

/// Times hits one by one. Each client waits for its answer before it sends its next request, and there are at most as
/// many clients as processors. So a time contains the hit, and hardly any wait in a queue.
///
/// A time ends with the arrival of the last byte. This program takes the times itself, because wrk takes them in whole
/// microseconds.
struct HitTimer {
    private let port: UInt16
    private let requests: [[UInt8]]
    private let bodyBytes: Int

    /// - Parameters:
    ///   - targets: the targets that each client requests in turn.
    ///   - bodyBytes: the length of every body.
    init(port: UInt16, targets: [String], bodyBytes: Int) {
        self.port = port
        requests = targets.map { Array("GET \($0) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8) }
        self.bodyBytes = bodyBytes
    }

    /// The nanoseconds of each hit during `milliseconds`, without the hits of the warm-up before. The warm-up is needed
    /// because the processor's caches still hold the data of the server that was measured last. Each client has its own
    /// connection and thread. The first client begins with the target at `start`, and the first targets of all clients
    /// are as far apart as possible.
    func run(clients: Int, from start: Int = 0, warmUp: Int, milliseconds: Int) throws -> [UInt32] {
        let times = Collected()
        try inParallel(clients, Array(0..<clients)) { numbers in
            for number in numbers {
                let descriptor = try HTTPConnection.open(port: port)
                defer { close(descriptor) }
                let first = Self.now() + UInt64(warmUp) * 1_000_000
                let end = first + UInt64(milliseconds) * 1_000_000
                var at = (start + requests.count * number / clients) % requests.count
                var own: [UInt32] = []
                own.reserveCapacity(milliseconds * 200)
                var buffer = [UInt8](repeating: 0, count: bodyBytes + 16_384)
                while true {
                    let start = Self.now()
                    if start >= end { break }
                    let stop = try ask(requests[at], descriptor, &buffer)
                    if start >= first { own.append(UInt32(clamping: stop - start)) }
                    at = at + 1 < requests.count ? at + 1 : 0
                }
                times.add(own)
            }
        }
        return times.all
    }

    /// Sends a request. Returns the time at which the last byte of its answer arrived.
    private func ask(_ request: [UInt8], _ descriptor: Int32, _ buffer: inout [UInt8]) throws -> UInt64 {
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw BenchmarkError("send: \(String(cString: strerror(errno)))")
        }
        var held = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + held, $0.count - held, 0) }
            let now = Self.now()
            guard count > 0 else {
                throw BenchmarkError("no answer: \(count == 0 ? "closed" : String(cString: strerror(errno)))")
            }
            held += count
            guard let end = Self.endOfHead(buffer, held) else { continue }
            guard held <= end + bodyBytes, buffer.starts(with: Self.statusLine) else {
                throw BenchmarkError("expected a hit, got: \(String(decoding: buffer[..<end], as: UTF8.self))")
            }
            if held == end + bodyBytes { return now }
        }
    }

    private static let statusLine = Array("HTTP/1.1 200 ".utf8)

    /// The offset at which the body starts, or `nil` if the head is incomplete.
    private static func endOfHead(_ buffer: [UInt8], _ count: Int) -> Int? {
        guard count >= 4 else { return nil }
        return (4...count).first { end in
            buffer[end - 1] == 10 && buffer[end - 2] == 13 && buffer[end - 3] == 10 && buffer[end - 4] == 13
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The times of all clients.
    ///
    /// `@unchecked Sendable` is safe because `times` is only accessed while `lock` is held.
    private final class Collected: @unchecked Sendable {
        private let lock = NSLock()
        private var times: [UInt32] = []

        func add(_ own: [UInt32]) { lock.withLock { times += own } }

        var all: [UInt32] { lock.withLock { times } }
    }
}
