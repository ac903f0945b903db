import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

/// Records the bytes of a body. A write fails once the sink has more than `limit` bytes.
final class RecordingSink: BodySink {
    struct Full: Error, Equatable {}

    let received = Locked<[UInt8]>([])
    let writes = Mailbox<Int>()
    let abandoned = Mailbox<Void>()
    private let limit: Int

    init(limit: Int = .max) {
        self.limit = limit
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        let copy = Array(bytes)
        let count = received.withLock { received in
            received += copy
            return received.count
        }
        writes.put(bytes.count)
        if count > limit { throw Full() }
        return .room
    }

    func abandon() {
        abandoned.put(())
    }

    /// The number of bytes received.
    var count: Int { received.withLock { $0.count } }
}

@Suite("Request bodies")
struct BodyTests {
    /// Accepts each request with the policy and answers with a description of its body.
    private static func describing(_ policy: @escaping @Sendable () -> BodyPolicy) -> Handler {
        Handler { _ in
            .accept(policy()) { exchange in
                let text =
                    switch exchange.body {
                    case .none: "none"
                    case .memory(let bytes): "memory:" + String(decoding: bytes, as: UTF8.self)
                    case .sunk(let count): "sunk:\(count)"
                    case .tooLarge: "too large"
                    case .noMemory: "no memory"
                    case .failed(let error): "failed:\(error)"
                    }
                exchange.respond(Response(text: text))
            }
        }
    }

    @Test("The daemon collects a body in memory, and closes the connection only if the body was chunked")
    func memory() async throws {
        try await withDaemon(Self.describing { .memory(limit: 100) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello")
            #expect(try client.answer().text == "memory:hello")
            try client.request("POST", "/")
            #expect(try client.answer().text == "memory:")
            try client.send(
                "PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "5\r\nhello\r\n1;x=y\r\n,\r\n6\r\n world\r\n0\r\nX-Trailer: z\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.text == "memory:hello, world")
            #expect(answer["Connection"] == "close")
            #expect(try client.isAtEnd())
        }
    }

    @Test("Bodies that together exceed the memory limit are refused until another body frees its memory")
    func memoryOfAll() async throws {
        let configure: (inout DaemonConfiguration) -> Void = { $0.bodyMemoryLimit = 150 }
        try await withDaemon(Self.describing { .memory(limit: 100) }, configure: configure) { daemon in
            let body = String(repeating: "x", count: 90)
            let head = "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 90\r\n\r\n"
            let (first, second) = (try RawClient(port: daemon.port), try RawClient(port: daemon.port))
            try first.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 91\r\nExpect: 100-continue\r\n\r\n")
            #expect(try first.answer().status == 100)
            try first.send(body)
            // The daemon may see the second body before the first body, so the test tries again.
            try pollBlocking("the second body to be refused") {
                try? second.send(head + body)
                return (try? second.answer().text) == "no memory"
            }
            try first.send("y")
            #expect(try first.answer().text == "memory:\(body)y")
            // The answer arrives a moment before the request ends, because the request ends on another thread.
            try pollBlocking("the memory of the first body to be free") {
                try? second.send(head + body)
                return (try? second.answer().text) == "memory:\(body)"
            }
            for _ in 0..<5 {
                try second.send(head + body)
                #expect(try second.answer().text == "memory:\(body)")
            }
        }
    }

    @Test("A body that arrives byte by byte reaches the handler whole")
    func bytewise() async throws {
        try await withDaemon(Self.describing { .memory(limit: 100) }) { daemon in
            let client = try RawClient(port: daemon.port)
            for byte in "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n0123456789".utf8 {
                try client.send([byte])
            }
            #expect(try client.answer().text == "memory:0123456789")
        }
    }

    @Test("Before the client sends a body, the daemon answers Expect: 100-continue with 100 or with the refusal")
    func expectContinue() async throws {
        let handler = Handler { request in
            if request.path == "/no" { return .refuse(Response(status: 417, text: "no")) }
            return Self.describing { .memory(limit: 100) }.receive(request)
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            let fields = ["Content-Length: 2", "Expect: 100-continue"]
            try client.request("PUT", "/yes", fields: fields)
            #expect(try client.answer().status == 100)
            try client.send("ok")
            #expect(try client.answer().text == "memory:ok")
            try client.request("PUT", "/no", fields: fields)
            #expect(try client.answer().status == 417)
            #expect(try client.isAtEnd())
        }
    }

    @Test("The daemon answers a body of a declared length over the limit without a 100 and without reading the body")
    func declaredTooLarge() async throws {
        try await withDaemon(Self.describing { .memory(limit: 10) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("PUT", "/", fields: ["Content-Length: 11", "Expect: 100-continue"])
            let answer = try client.answer()
            #expect(answer.status == 200)
            #expect(answer.text == "too large")
            #expect(try client.isAtEnd())
        }
    }

    @Test(
        "A client that sends a whole refused body before it reads still receives the answer",
        arguments: ["refused", "answered", "later"])
    func refusedWhileSending(how: String) async throws {
        let refusal = Response(status: 413, text: "too large")
        let queue = DispatchQueue(label: "answers")
        let handler = Handler { _ in
            if how == "refused" { return .refuse(refusal) }
            return .accept(.memory(limit: 10)) { exchange in
                if how == "answered" { return exchange.respond(refusal) }
                queue.async { exchange.respond(refusal) }
            }
        }
        try await withDaemon(handler) { daemon in
            let body = pattern(8 << 20)
            for _ in 0..<20 {
                let client = try RawClient(port: daemon.port)
                try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n\r\n")
                try client.send(body)
                let answer = try client.answer()
                #expect(answer.status == 413)
                #expect(answer.text == "too large")
                #expect(try client.isAtEnd())
            }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("A body over the memory limit but within the discard limit is discarded, and the connection stays open")
    func declaredTooLargeButSmall() async throws {
        try await withDaemon(Self.describing { .memory(limit: 10) }, configure: { $0.discardLimit = 1000 }) { daemon in
            let client = try RawClient(port: daemon.port)
            for _ in 0..<2 {
                try client.request("PUT", "/", fields: ["Content-Length: 1000"])
                try client.send(pattern(1000))
                #expect(try client.answer().text == "too large")
            }
            try client.request("PUT", "/", fields: ["Content-Length: 1001"])
            #expect(try client.answer().text == "too large")
            #expect(try client.isAtEnd())
        }
    }

    @Test("The daemon answers a chunked body over the memory limit only after the last chunk")
    func chunkedTooLarge() async throws {
        try await withDaemon(Self.describing { .memory(limit: 10) }) { daemon in
            let client = try RawClient(port: daemon.port)
            let chunk = "8\r\n01234567\r\n"
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try client.send(String(repeating: chunk, count: 1000) + "0\r\n\r\n")
            #expect(try client.answer().text == "too large")
            #expect(try client.isAtEnd())
        }
    }

    @Test("The daemon discards an unwanted body up to the discard limit, and closes a longer body's connection")
    func discard() async throws {
        try await withDaemon(Self.describing { .none }, configure: { $0.discardLimit = 1000 }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("GET / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
            try client.send(pattern(1000))
            #expect(try client.answer().text == "none")
            try client.send("GET / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try client.send("3E9\r\n")
            try client.send(pattern(1001))
            #expect(try client.isAtEnd())
        }
    }

    @Test("A sink gets every byte of the body in order")
    func sink() async throws {
        let sink = RecordingSink()
        let bytes = pattern(3_000_000)
        try await withDaemon(Self.describing { .sink(sink) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 3000000\r\n\r\n")
            try client.send(bytes)
            #expect(try client.answer().text == "sunk:3000000")
        }
        #expect(sink.received.withLock { $0 } == bytes)
        #expect(sink.abandoned.count == 0)
    }

    @Test("A sink gets no further writes after a write fails, and the handler gets the error of the failed write")
    func sinkError() async throws {
        let sink = RecordingSink(limit: 0)
        try await withDaemon(Self.describing { .sink(sink) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 500000\r\n\r\n")
            try client.send(pattern(500_000))
            #expect(try client.answer().text == "failed:Full()")
            try client.request("POST", "/")
            #expect(try client.answer().text == "sunk:0")
        }
        #expect(sink.writes.count == 1)
        #expect(sink.abandoned.count == 0)
    }

    @Test("When a client leaves in mid-body, the daemon abandons the body's sink, and does not call the handler")
    func abandonedSink() async throws {
        let sink = RecordingSink()
        let answered = Mailbox<Void>()
        let handler = Handler { _ in
            .accept(.sink(sink)) { exchange in
                answered.put(())
                exchange.respond(Response())
            }
        }
        try await withDaemon(handler) { daemon in
            var client: RawClient? = try RawClient(port: daemon.port)
            try client?.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345")
            _ = try sink.writes.wait()
            #expect(daemon.exchangesInFlight == 1)
            client = nil
            _ = try sink.abandoned.wait()
            try pollBlocking("no connection and no exchange") {
                daemon.connectionCount == 0 && daemon.exchangesInFlight == 0
            }
        }
        #expect(answered.count == 0)
        #expect(sink.abandoned.count == 1)
    }

    @Test("A malformed chunk gets 400, and the daemon abandons the body's sink")
    func brokenChunk() async throws {
        let sink = RecordingSink()
        try await withDaemon(Self.describing { .sink(sink) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nxyz\r\n")
            #expect(try client.answer().status == 400)
            _ = try sink.abandoned.wait()
        }
    }

    @Test("A daemon that stops abandons the sinks of unfinished bodies")
    func stopAbandons() async throws {
        let sink = RecordingSink()
        let client = Mailbox<Connected>()
        try await withDaemon(Self.describing { .sink(sink) }, deadline: .zero) { daemon in
            let raw = try RawClient(port: daemon.port)
            try raw.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345")
            _ = try sink.writes.wait()
            client.put(Connected(raw))
        }
        #expect(sink.abandoned.count == 1)
    }
}
