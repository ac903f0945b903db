import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

/// A sink that is full after each write. The test makes room again, or a queue does so at once.
private final class NarrowSink: BodySink {
    let received = Locked<[UInt8]>([])
    let writes = Mailbox<Int>()
    /// The actions that make room again, one for each write.
    let pauses = Mailbox<@Sendable () -> Void>()
    let abandoned = Mailbox<Void>()
    private let queue: DispatchQueue?

    init(queue: DispatchQueue? = nil) {
        self.queue = queue
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Backpressure {
        let copy = Array(bytes)
        received.withLock { $0 += copy }
        writes.put(bytes.count)
        return .full
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) {
        if let queue { queue.async(execute: action) } else { pauses.put(action) }
    }

    func abandon() {
        abandoned.put(())
    }
}

/// A sink that wants no more bytes after its first write.
private final class SatisfiedSink: BodySink {
    let writes = Mailbox<Int>()
    let abandoned = Mailbox<Void>()

    func write(_ bytes: UnsafeRawBufferPointer) -> Backpressure {
        writes.put(bytes.count)
        return .closed
    }

    func abandon() {
        abandoned.put(())
    }
}

@Suite("Sinks with back-pressure")
struct SinkTests {
    /// Gives the body of each `PUT` to a sink, and answers with the number of bytes that the sink took. Any other
    /// request is answered with "here".
    private static func feeding(_ sink: @escaping @Sendable () -> any BodySink) -> Handler {
        Handler { request in
            guard request.method == "PUT" else { return .accept(.none) { $0.respond(Response(text: "here")) } }
            return .accept(.sink(sink())) { exchange in
                guard case .sunk(let count) = exchange.body else { return exchange.respond(Response(status: 500)) }
                exchange.respond(Response(text: "\(count)"))
            }
        }
    }

    private static func head(_ length: Int) -> String {
        "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: \(length)\r\n\r\n"
    }

    private static let chunkedHead = "PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Lets the daemon's only thread answer other requests, so that it has processed all earlier input.
    private static func comeRound(_ daemon: Daemon) throws {
        for _ in 0..<3 {
            let other = try RawClient(port: daemon.port)
            try other.request("GET", "/")
            #expect(try other.answer().text == "here")
        }
    }

    @Test("The daemon does not read from a client while its sink is full, and no byte is lost")
    func backPressure() async throws {
        let sink = NarrowSink()
        let bytes = pattern(300_000)
        try await withDaemon(Self.feeding { sink }, configure: { $0.threads = 1 }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(Self.head(bytes.count))
            try client.send(Array(bytes[..<100]))
            _ = try sink.pauses.wait()
            try client.send(Array(bytes[100...]))
            try Self.comeRound(daemon)
            #expect(sink.writes.count == 1)
            var opened = 0
            while sink.received.withLock({ $0.count }) < bytes.count {
                try sink.pauses.wait(for: opened + 1)[opened]()
                opened += 1
                _ = try sink.pauses.wait(for: opened + 1)
                #expect(sink.writes.count == opened + 1)
            }
            // The sink has all bytes but is still full, so the daemon does not report the end of the body yet.
            try Self.comeRound(daemon)
            // The exchanges of other clients end a moment after their answers arrive.
            try pollBlocking("its exchange alone") { daemon.exchangesInFlight == 1 }
            try sink.pauses.wait(for: opened + 1)[opened]()
            #expect(try client.answer().text == "300000")
            // Calling the first action of `pauses` again has no effect, and the connection serves the next request.
            try sink.pauses.wait()[0]()
            try client.request("GET", "/")
            #expect(try client.answer().text == "here")
        }
        #expect(sink.received.withLock { $0 } == bytes)
        #expect(sink.abandoned.count == 0)
    }

    @Test("Of the chunks in one packet, the daemon writes each only when the sink has room")
    func chunksAtHand() async throws {
        let sink = NarrowSink()
        try await withDaemon(Self.feeding { sink }, configure: { $0.threads = 1 }) { daemon in
            let client = try RawClient(port: daemon.port)
            let chunks = (0..<50).map { "2\r\n\($0 + 10)\r\n" }.joined()
            try client.send(Self.chunkedHead + chunks + "0\r\nX-Trailer: z\r\n\r\n")
            for opened in 0..<50 {
                let pauses = try sink.pauses.wait(for: opened + 1)
                try Self.comeRound(daemon)
                #expect(sink.writes.count == opened + 1)
                pauses[opened]()
            }
            #expect(try client.answer().text == "100")
            #expect(try client.isAtEnd())
        }
        #expect(sink.received.withLock { $0 } == Array((10..<60).map { "\($0)" }.joined().utf8))
    }

    @Test("When a sink gets room while its connection is being suspended, the body still continues")
    func race() async throws {
        let queue = DispatchQueue(label: "room", attributes: .concurrent)
        let sinks = Mailbox<NarrowSink>()
        let handler = Self.feeding {
            let sink = NarrowSink(queue: queue)
            sinks.put(sink)
            return sink
        }
        let chunk = pattern(1000)
        try await withDaemon(handler) { daemon in
            let done = Mailbox<String>()
            for _ in 0..<8 {
                Thread {
                    var text = "broken"
                    if let client = try? RawClient(port: daemon.port) {
                        let wire =
                            Array((Self.chunkedHead).utf8)
                            + (0..<1000).flatMap { _ in Array("3e8\r\n".utf8) + chunk + [13, 10] }
                            + Array("0\r\n\r\n".utf8)
                        if (try? client.send(wire)) != nil { text = (try? client.answer().text) ?? text }
                    }
                    done.put(text)
                }.start()
            }
            let texts = try done.wait(for: 8)
            #expect(texts == Array(repeating: "1000000", count: 8))
        }
        let expected = Array(repeatElement(chunk, count: 1000).joined())
        for sink in try sinks.wait(for: 8) { #expect(sink.received.withLock { $0 } == expected) }
    }

    @Test("When the client of a full sink leaves, the daemon abandons the sink at once", arguments: [5, 10])
    func hangUp(sent: Int) async throws {
        let sink = NarrowSink()
        try await withDaemon(Self.feeding { sink }) { daemon in
            var client: RawClient? = try RawClient(port: daemon.port)
            try client?.send(Self.head(10) + String("0123456789".prefix(sent)))
            _ = try sink.pauses.wait()
            client = nil
            _ = try sink.abandoned.wait()
            try pollBlocking("no connection and no exchange") {
                daemon.connectionCount == 0 && daemon.exchangesInFlight == 0
            }
            // Makes room too late.
            try sink.pauses.wait()[0]()
        }
        #expect(sink.abandoned.count == 1)
        #expect(sink.writes.count == 1)
    }

    @Test("If a client leaves while its sink is full, the sink gets none of the bytes that the daemon has not read")
    func hangUpWithUnread() async throws {
        let sink = NarrowSink()
        try await withDaemon(Self.feeding { sink }) { daemon in
            var client: RawClient? = try RawClient(port: daemon.port)
            try client?.send(Self.head(100_000) + "0")
            _ = try sink.pauses.wait()
            try client?.send(pattern(50_000))
            client = nil
            _ = try sink.abandoned.wait()
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
        #expect(sink.writes.count == 1)
    }

    @Test("A daemon that stops does not wait for full sinks, and abandons them")
    func stop() async throws {
        let sink = NarrowSink()
        let clients = Mailbox<Connected>()
        try await withDaemon(Self.feeding { sink }, deadline: .zero) { daemon in
            for _ in 0..<100 {
                let client = try RawClient(port: daemon.port)
                try client.send(Self.head(10) + "01234")
                clients.put(Connected(client))
            }
            _ = try sink.pauses.wait(for: 100)
        }
        #expect(sink.abandoned.count == 100)
        for room in try sink.pauses.wait(for: 100) { room() }
        #expect(sink.writes.count == 100)
    }

    @Test("The time while a sink is full does not count towards the deadline of its body")
    func deadline() async throws {
        let sink = NarrowSink()
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.threads = 1
            $0.requestDeadline = .milliseconds(200)
            $0.minimumBodyRate = 1000
            $0.now = { clock.now() }
        }
        try await withDaemon(Self.feeding { sink }, configure: configure) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(Self.head(10) + "01234")
            let room = try sink.pauses.wait()[0]
            // The end of a silent client's connection shows that the daemon has begun to check all deadlines. The end
            // of the second shows that the first check is complete.
            for _ in 0..<2 {
                let silent = try RawClient(port: daemon.port)
                try Self.comeRound(daemon)
                clock.advance(by: .seconds(1))
                #expect(try silent.isAtEnd())
            }
            room()
            try client.send("56789")
            try sink.pauses.wait(for: 2)[1]()
            #expect(try client.answer().text == "10")

            // No more bytes arrive. The deadline runs again, so it ends the body long before the inactivity limit.
            try client.send(Self.head(10) + "01234")
            try sink.pauses.wait(for: 3)[2]()
            clock.advance(by: .seconds(1))
            _ = try sink.abandoned.wait()
            #expect(try client.isAtEnd())
        }
    }

    @Test(
        "The daemon discards bytes that a sink does not want; the connection stays open unless the body is chunked",
        arguments: [true, false])
    func enough(isChunked: Bool) async throws {
        let sink = SatisfiedSink()
        let bytes = pattern(500_000)
        try await withDaemon(Self.feeding { sink }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(isChunked ? Self.chunkedHead + "7a120\r\n" : Self.head(bytes.count))
            try client.send(bytes)
            if isChunked { try client.send("\r\n0\r\n\r\n") }
            let answer = try client.answer()
            #expect(answer.status == 200)
            #expect(try sink.writes.wait().map(String.init) == [answer.text])
            if isChunked {
                #expect(try client.isAtEnd())
            } else {
                try client.request("GET", "/")
                #expect(try client.answer().text == "here")
            }
        }
        #expect(sink.abandoned.count == 0)
    }

    @Test("A client that sends more unwanted bytes than the discard limit is cut off, and its sink is abandoned")
    func farMoreThanEnough() async throws {
        let sink = SatisfiedSink()
        try await withDaemon(Self.feeding { sink }, configure: { $0.discardLimit = 1000 }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(Self.head(100_000) + "0")
            _ = try sink.writes.wait()
            try client.send(pattern(2000))
            #expect(try client.isAtEnd())
            _ = try sink.abandoned.wait()
        }
        #expect(sink.writes.count == 1)
    }
}
