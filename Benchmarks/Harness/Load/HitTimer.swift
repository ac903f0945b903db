import Foundation

/// Times hits one by one: a client asks again once it has its answer, and no more of them ask than there are processors
/// to answer, so that what is timed is a hit, and little of the queue before it.
///
/// Each time ends with the last byte's arrival, and is taken by this program itself: wrk's are whole microseconds.
struct HitTimer {
    private let port: UInt16
    private let requests: [[UInt8]]
    private let bodyBytes: Int

    /// - Parameters:
    ///   - targets: asked for in turn.
    ///   - bodyBytes: the length of every body.
    init(port: UInt16, targets: [String], bodyBytes: Int) {
        self.port = port
        requests = targets.map { Array("GET \($0) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8) }
        self.bodyBytes = bodyBytes
    }

    /// Nanoseconds of each hit in `milliseconds`, but for those of the warm-up before: who was asked last has what it
    /// needs in the processor's caches. As many clients as that ask at once, on connections and threads of their own,
    /// the first from the target at `start` on, the others from as far apart as they can be.
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

    /// Sends one request. Returns when the last byte of its answer was there.
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
                throw BenchmarkError("no hit: \(String(decoding: buffer[..<end], as: UTF8.self))")
            }
            if held == end + bodyBytes { return now }
        }
    }

    private static let statusLine = Array("HTTP/1.1 200 ".utf8)

    /// Where the body starts, when it is there.
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

    /// What all clients timed.
    ///
    /// `@unchecked Sendable` because `times` is only touched while `lock` is held.
    private final class Collected: @unchecked Sendable {
        private let lock = NSLock()
        private var times: [UInt32] = []

        func add(_ own: [UInt32]) { lock.withLock { times += own } }

        var all: [UInt32] { lock.withLock { times } }
    }
}
