import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

/// A handler made of a closure.
struct Handler: RequestHandler {
    let closure: @Sendable (Request) -> Reception

    init(_ closure: @escaping @Sendable (Request) -> Reception) {
        self.closure = closure
    }

    func receive(_ request: Request) -> Reception {
        closure(request)
    }

    /// Answers everything at once.
    static func answering(_ response: @escaping @Sendable (Exchange) -> Response) -> Handler {
        Handler { _ in .accept(.none) { $0.respond(response($0)) } }
    }

    /// Answers with a stream.
    static func streaming(_ stream: ResponseStream, length: Int64? = nil) -> Handler {
        answering { _ in Response(body: .stream(stream, length: length)) }
    }
}

/// Runs a daemon, lets `body` be its clients on a thread of their own, and stops it.
func withDaemon<Result: Sendable>(
    _ handler: any RequestHandler, configure: (inout Daemon.Configuration) -> Void = { _ in },
    deadline: Duration = .seconds(5), _ body: @escaping @Sendable (Daemon) throws -> Result
) async throws -> Result {
    var configuration = Daemon.Configuration()
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

/// Values that come from other threads, and a way to wait for them.
final class Mailbox<Value: Sendable>: @unchecked Sendable {
    // Safe: `values` is touched between lock and unlock only.
    private let condition = NSCondition()
    private var values: [Value] = []

    func put(_ value: Value) {
        condition.lock()
        values.append(value)
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until there are that many, and returns them all. An error after ``Gate/defaultLimit``.
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

/// A monotonic clock that stands still until a test turns it.
final class ManualClock: Sendable {
    private let milliseconds = Locked<Int64>(1_000_000)

    /// Milliseconds, as a daemon's configuration asks for them.
    func now() -> Int64 { milliseconds.withLock { $0 } }

    /// Turns the clock on.
    func advance(by duration: Duration) {
        milliseconds.withLock { $0 += duration.milliseconds }
    }
}

/// Bytes that are not all the same, so that a mix-up of places shows.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
}

extension Response {
    convenience init(status: Int = 200, text: String, fields: HTTPFields = [:]) {
        self.init(status: status, fields: fields, body: .bytes(SharedBytes(text.utf8)))
    }
}

/// Keeps a client connected beyond the thread that made it. Safe to be Sendable, as only one thread at a time uses it.
struct Connected: @unchecked Sendable {
    let client: RawClient

    init(_ client: RawClient) {
        self.client = client
    }
}

/// A file that is removed with the object.
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

    /// A new descriptor of the whole file.
    func body() -> FileBody {
        FileBody(descriptor: open(path, O_RDONLY), length: length)
    }
}
