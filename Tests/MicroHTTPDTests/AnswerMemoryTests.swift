import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("The memory of answers that are being sent")
struct AnswerMemoryTests {
    @Test("Answer memory is granted up to the limit, and released memory is granted again")
    func limit() {
        let memory = AnswerMemory(limit: 100_000)
        var first: AnswerMemory.Share? = memory.take(60_000)
        #expect(first != nil)
        #expect(memory.take(60_000) == nil)
        #expect(memory.block().count == AnswerMemory.small)
        let second = memory.take(40_000)
        #expect(second != nil)
        first = nil
        #expect(memory.take(60_000) != nil)
        let (count, share) = memory.block()
        #expect(count == AnswerMemory.small && share == nil)
        withExtendedLifetime((first, second, share)) {}
    }

    @Test(
        "When no answer memory is free, the daemon sends files of any size whole, in small blocks",
        arguments: [8000, 16_385, 200_000, 3_000_001])
    func small(size: Int) async throws {
        let file = try TemporaryFile(pattern(size))
        let body = file.body()
        let handler = Handler.answering { _ in Response(body: .file(body)) }
        try await withDaemon(handler, configure: { $0.answerMemoryLimit = 0 }) { daemon in
            let client = try RawClient(port: daemon.port)
            for _ in 0..<2 {
                try client.request("GET", "/")
                #expect(try client.answer().body == pattern(size))
            }
        }
    }

    @Test("A file body keeps the owner of its descriptor alive, and does not close the descriptor")
    func owner() throws {
        final class Owner: Sendable {}
        var owner: Owner? = Owner()
        weak let kept = owner
        let file = try TemporaryFile(pattern(100))
        let descriptor = open(file.path, O_RDONLY)
        defer { close(descriptor) }
        var body: FileBody? = FileBody(descriptor: descriptor, of: owner!, length: 100)
        var part = body?.slice(10..<20)
        owner = nil
        body = nil
        #expect(kept != nil)
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(bytes.withUnsafeMutableBytes { part?.readBytes(into: $0, at: 0) } == 10)
        #expect(bytes == Array(pattern(100)[10..<20]))
        part = nil
        #expect(kept == nil)
        #expect(fcntl(descriptor, F_GETFD) >= 0)
    }

    @Test("When no answer memory is free, a stream buffers under 4 KiB for a stalled client, and no byte is lost")
    func stream() async throws {
        let size = 8 << 20
        let stream = ResponseStream(highWaterMark: 256 << 10)
        let written = Locked(0)
        @Sendable func produce() {
            while written.withLock({ $0 }) < size {
                let count = min(stream.room, size - written.withLock { $0 })
                let start = written.withLock { written in
                    defer { written += count }
                    return written
                }
                switch stream.write((start..<start + count).map { UInt8(truncatingIfNeeded: $0) }) {
                case .room: continue
                case .full: return stream.onRoom { produce() }
                case .closed: return
                }
            }
            stream.finish()
        }
        let handler = Handler.streaming(stream, length: Int64(size))
        try await withDaemon(handler, configure: { $0.answerMemoryLimit = 0 }) { daemon in
            #expect(stream.room == AnswerMemory.queued)
            let client = try RawClient(port: daemon.port, receiveBuffer: 8 << 10)
            try client.request("GET", "/")
            produce()
            try pollBlocking("the stream to be full") { stream.bufferedCount == AnswerMemory.queued }
            #expect(written.withLock { $0 } < size)
            let answer = try client.answer()
            #expect(answer.body.count == size)
            #expect(answer.body.last == UInt8(truncatingIfNeeded: size - 1))
        }
    }

    @Test("While answer memory is free, a stream buffers up to its high-water mark; the stream's end frees the memory")
    func largeStream() async throws {
        let streams = [ResponseStream(highWaterMark: 256 << 10), ResponseStream(highWaterMark: 256 << 10)]
        let handler = Handler { request in
            .accept(.none) { exchange in
                exchange.respond(Response(body: .stream(streams[request.path == "/first" ? 0 : 1], length: nil)))
            }
        }
        try await withDaemon(handler, configure: { $0.answerMemoryLimit = 256 << 10 }) { daemon in
            // There is room for the buffer of only one stream at a time.
            for (stream, path) in zip(streams, ["/first", "/second"]) {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", path)
                try pollBlocking("the stream to have room") { stream.room == 256 << 10 }
                stream.finish()
                #expect(try client.answer().status == 200)
            }
        }
    }
}
