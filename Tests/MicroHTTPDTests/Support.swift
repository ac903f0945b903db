import Foundation
import HTTPTypes
import Primitives
import Synchronization
import TestSupport
import Testing

@testable import MicroHTTPD

/// A handler made of a closure.
struct Handler: RequestHandler {
    let closure: @Sendable (Request) -> Reception

    init(_ closure: @escaping @Sendable (Request) -> Reception) {
        self.closure = closure
    }

    func receive(_ request: Request) -> Reception {
        closure(request)
    }

    /// Answers every request at once.
    static func answering(_ response: @escaping @Sendable (Exchange) -> Response) -> Handler {
        Handler { _ in .accept(.none) { $0.respond(response($0)) } }
    }

    /// Answers every request with the stream.
    static func streaming(_ stream: ResponseStream, length: Int64? = nil) -> Handler {
        answering { _ in Response(body: .stream(stream, length: length)) }
    }
}

/// Starts a daemon, runs `body` with its clients on a thread of its own, and stops the daemon.
func withDaemon<Result: Sendable>(
    _ handler: any RequestHandler, configure: (inout DaemonConfiguration) -> Void = { _ in },
    deadline: Duration = .seconds(5), _ body: @escaping @Sendable (Daemon) throws -> Result
) async throws -> Result {
    var configuration = DaemonConfiguration()
    configure(&configuration)
    let daemon = Daemon(configuration: configuration, handler: handler)
    try daemon.start()
    do {
        let result = try await blocking { try body(daemon) }
        await daemon.stop(deadline: deadline)
        return result
    } catch {
        await daemon.stop(deadline: .zero)
        throw error
    }
}

/// Values from other threads, and a way to wait for them.
final class Mailbox<Value: Sendable>: @unchecked Sendable {
    // Safe because `values` is accessed only between lock and unlock.
    private let condition = NSCondition()
    private var values: [Value] = []

    func put(_ value: Value) {
        condition.lock()
        values.append(value)
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until there are `count` values, and returns them all. Throws an error after ``Gate/defaultLimit``.
    func wait(for count: Int = 1) throws -> [Value] {
        condition.lock()
        defer { condition.unlock() }
        let end = Date(timeIntervalSinceNow: Gate.defaultLimit.inSeconds)
        while values.count < count {
            if !condition.wait(until: end) { throw RawClient.Failure(description: "\(values.count) of \(count) came") }
        }
        return values
    }

    var count: Int {
        condition.lock()
        defer { condition.unlock() }
        return values.count
    }
}

/// A monotonic clock that advances only when a test advances it.
final class ManualClock: Sendable {
    private let milliseconds = Locked<Int64>(1_000_000)

    /// The time in milliseconds, as a daemon's configuration expects it.
    func now() -> Int64 { milliseconds.withLock { $0 } }

    /// Advances the clock.
    func advance(by duration: Duration) {
        milliseconds.withLock { $0 += duration.milliseconds }
    }
}

/// Bytes that differ by position, so that a test detects swapped or shifted parts.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
}

extension Response {
    convenience init(status: Int = 200, text: String, fields: HTTPFields = [:]) {
        self.init(status: status, fields: fields, body: .bytes(SharedBytes(text.utf8)))
    }
}

/// Keeps a client connected beyond the thread that made it. Safe to be Sendable because only one thread at a time uses
/// the client.
struct Connected: @unchecked Sendable {
    let client: RawClient

    init(_ client: RawClient) {
        self.client = client
    }
}

/// A file that is removed together with the object.
final class TemporaryFile: Sendable {
    let path: String
    let length: Int64

    init(_ bytes: [UInt8]) throws {
        path = NSTemporaryDirectory() + "microhttpd-" + UUID().uuidString
        length = Int64(bytes.count)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit {
        unlink(path)
    }

    /// The whole file as a body with a new descriptor.
    func body() -> FileBody {
        FileBody(descriptor: open(path, O_RDONLY), length: length)
    }
}

extension FileBody {
    /// Takes over the descriptor.
    convenience init(descriptor: Int32, length: Int64) {
        self.init(descriptor: descriptor, of: OpenFile(descriptor: descriptor), length: length)
    }

    /// Returns a part of this body. `range` counts from this body's start, and must lie within this body.
    func slice(_ range: Range<Int64>) -> FileBody {
        FileBody(descriptor: descriptor, of: owner, offset: offset + range.lowerBound, length: Int64(range.count))
    }
}

private final class OpenFile: Sendable {
    let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}

extension Daemon {
    var connectionCount: Int { running?.core.registry.count ?? 0 }
    /// The number of requests with a first line that has arrived and an answer that is not complete.
    var exchangesInFlight: Int { running?.core.registry.all.count { $0.isBusy.load(ordering: .relaxed) } ?? 0 }
}

extension ResponseStream {
    /// The number of written bytes that libmicrohttpd has not taken yet.
    var bufferedCount: Int { state.withLock { $0.queue.count } }
}

extension ThreadLoads {
    var connectionCounts: [Int] { loads.withLock { $0.counts } }
}
