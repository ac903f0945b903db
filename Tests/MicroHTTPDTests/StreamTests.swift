import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("Streamed responses")
struct StreamTests {
    @Test("A stream sends bytes to a waiting client at once, and ends its body when the producer finishes")
    func live() async throws {
        let stream = ResponseStream()
        let closed = Mailbox<Void>()
        stream.onClose { closed.put(()) }
        try await withDaemon(Handler.streaming(stream)) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            // The head arrives before the stream has bytes to send.
            var received = String(decoding: try client.receive(), as: UTF8.self)
            #expect(received.hasSuffix("\r\n\r\n"))
            for index in 0..<20 {
                stream.write("event \(index)\n".utf8)
                received = ""
                while !received.contains("event \(index)\n") {
                    let bytes = try client.receive()
                    try #require(!bytes.isEmpty)
                    received += String(decoding: bytes, as: UTF8.self)
                }
            }
            #expect(closed.count == 0)
            stream.finish()
            #expect(String(decoding: try client.receive(), as: UTF8.self).hasSuffix("0\r\n\r\n"))
            _ = try closed.wait()
            #expect(stream.write("late".utf8) == .closed)
            #expect(daemon.connectionCount == 1)
        }
    }

    @Test("A stream of known length is not chunked, and its connection is kept")
    func knownLength() async throws {
        let handler = Handler.answering { _ in
            let stream = ResponseStream()
            Thread {
                for _ in 0..<100 { stream.write(pattern(1000)) }
                stream.finish()
            }.start()
            return Response(body: .stream(stream, length: 100_000))
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            for _ in 0..<5 {
                try client.request("GET", "/")
                let answer = try client.answer()
                #expect(answer["Content-Length"] == "100000")
                #expect(answer.body.count == 100_000)
            }
        }
    }

    @Test("A producer that is faster than its client is held back, and every byte arrives in order")
    func backPressure() async throws {
        let mark = 256 * 1024
        let piece = 64 * 1024
        let total = 64 << 20
        let stream = ResponseStream(highWaterMark: mark)
        let held = Mailbox<Void>()
        let producer = Producer(stream: stream, piece: piece, total: total) { held.put(()) }
        try await withDaemon(Handler.streaming(stream)) { daemon in
            let client = try RawClient(port: daemon.port, receiveBuffer: 32 * 1024)
            try client.request("GET", "/")
            producer.run()
            // The producer is held back while the client does not read.
            _ = try held.wait()
            let body = try client.answer().body
            #expect(body.count == total)
            #expect(
                stride(from: 0, to: total, by: piece).allSatisfy { body[$0] == UInt8(truncatingIfNeeded: $0 / piece) })
        }
        #expect(producer.mostBuffered.withLock { $0 } <= mark + piece)
        #expect(held.count > 10)
    }

    @Test("A stream sends several pieces of one write in order, and counts them together for its high-water mark")
    func pieces() async throws {
        let stream = ResponseStream(highWaterMark: 10)
        let pieces = ["one ", "", "two ", "three"].map { SharedBytes($0.utf8) }
        #expect(stream.write(pieces: pieces[..<3]) == .room)
        #expect(stream.bufferedCount == 8)
        #expect(stream.write(pieces: pieces[3...]) == .full)
        stream.finish()
        #expect(stream.write(pieces: pieces) == .closed)
        try await withDaemon(Handler.streaming(stream)) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().text == "one two three")
        }
    }

    @Test("For HEAD and 304, the daemon sends no byte of a stream, and tells the producer that the stream is closed")
    func head() async throws {
        let closed = Mailbox<String>()
        let handler = Handler.answering { exchange in
            let stream = ResponseStream()
            stream.onClose { closed.put(exchange.request.path) }
            return Response(
                status: exchange.request.path == "/304" ? 304 : 200,
                body: .stream(stream, length: exchange.request.path == "/known" ? 55 : nil))
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            for _ in 0..<2 {
                try client.request("HEAD", "/known")
                #expect(try client.answer(toHead: true)["Content-Length"] == "55")
            }
            for (method, path) in [("HEAD", "/unknown"), ("GET", "/304")] {
                let client = try RawClient(port: daemon.port)
                try client.request(method, path)
                let answer = try client.answer(toHead: true)
                #expect(answer["Content-Length"] == nil)
                #expect(answer["Transfer-Encoding"] == nil)
                #expect(try client.isAtEnd())
            }
            #expect(try closed.wait(for: 4) == ["/known", "/known", "/unknown", "/304"])
        }
    }

    @Test("For an HTTP/1.0 client, the close of the connection marks the end of a stream")
    func oldClient() async throws {
        let stream = ResponseStream()
        stream.write("whole".utf8)
        stream.finish()
        try await withDaemon(Handler.streaming(stream)) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("GET / HTTP/1.0\r\n\r\n")
            let answer = try client.answer()
            #expect(answer["Transfer-Encoding"] == nil)
            #expect(answer.text == "whole")
        }
    }

    @Test("A single serving thread sends many streams")
    func manyStreams() async throws {
        let streams = Mailbox<ResponseStream>()
        let handler = Handler.answering { _ in
            let stream = ResponseStream()
            streams.put(stream)
            return Response(body: .stream(stream, length: nil))
        }
        try await withDaemon(handler) { daemon in
            let clients = try (0..<1000).map { _ in try RawClient(port: daemon.port) }
            for client in clients { try client.request("GET", "/") }
            let all = try streams.wait(for: 1000)
            for round in 0..<50 { for stream in all { stream.write([UInt8(round)]) } }
            for stream in all { stream.finish() }
            for client in clients { #expect(try client.answer().body == (0..<50).map { UInt8($0) }) }
        }
    }
}

/// A producer that writes as fast as its stream allows.
private final class Producer: Sendable {
    private let stream: ResponseStream
    private let piece: Int
    private let total: Int
    private let onFull: @Sendable () -> Void
    private let written = Locked(0)
    let mostBuffered = Locked(0)

    init(stream: ResponseStream, piece: Int, total: Int, onFull: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.piece = piece
        self.total = total
        self.onFull = onFull
    }

    func run() {
        while true {
            let position = written.withLock { written in
                defer { written += piece }
                return written
            }
            if position >= total { return stream.finish() }
            let result = stream.write(
                SharedBytes(count: piece) { bytes in
                    bytes.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: position / piece))
                })
            let buffered = stream.bufferedCount
            mostBuffered.withLock { $0 = max($0, buffered) }
            switch result {
            case .room: continue
            case .closed: return
            case .full:
                onFull()
                return stream.onRoom { Thread { self.run() }.start() }
            }
        }
    }
}
