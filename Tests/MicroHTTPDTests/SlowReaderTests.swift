import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Clients that read slowly")
struct SlowReaderTests {
    @Test("A client that reads a byte at a time is cut off; a client that reads steadily gets the whole answer")
    func slow() async throws {
        let size = 32 << 20
        let large = Response(body: .bytes(SharedBytes([UInt8](repeating: 0x78, count: size))))
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            // Makes the daemon look at its clock every 50 ms, to find out whether the next check of the clients is due.
            $0.requestDeadline = .milliseconds(200)
            $0.now = { clock.now() }
        }
        try await withDaemon(Handler.answering { _ in large }, configure: configure) { daemon in
            let slow = try RawClient(port: daemon.port, receiveBuffer: 32 * 1024)
            let steady = try RawClient(port: daemon.port, receiveBuffer: 32 * 1024)
            var (slowCount, steadyCount) = (0, 0)
            for client in [slow, steady] {
                try client.request("GET", "/")
                // The daemon has read both request heads before the clock advances.
                #expect(try client.receive(atMost: 1).count == 1)
            }
            try pollBlocking("the slow client to be cut off") {
                clock.advance(by: .seconds(1))
                slowCount += (try? slow.receive(atMost: 1).count) ?? 0
                steadyCount += (try? steady.receive(atMost: 4096).count) ?? 0
                return daemon.connectionCount == 1
            }
            // The slow client reads the bytes in the kernel's buffer, and then the end of the connection.
            while true {
                let count = try slow.receive().count
                slowCount += count
                if count == 0 { break }
            }
            #expect(slowCount < size / 2)
            while steadyCount < size {
                let count = try steady.receive().count
                try #require(count > 0)
                steadyCount += count
            }
            #expect(daemon.connectionCount == 1)
            withExtendedLifetime(steady) {}
        }
    }

    @Test(
        "Clients that read at 1 KiB or 8,000 bytes a second are served while a stalled client is cut off",
        arguments: [nil, 8 << 10, 64 << 10] as [Int32?])
    func honest(receiveBuffer: Int32?) async throws {
        let size = 32 << 20
        let large = Response(body: .bytes(SharedBytes([UInt8](repeating: 0x78, count: size))))
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.requestDeadline = .milliseconds(200)
            $0.now = { clock.now() }
        }
        try await withDaemon(Handler.answering { _ in large }, configure: configure) { daemon in
            let rates = [1024, 8000]
            let readers = try rates.map { _ in try RawClient(port: daemon.port, receiveBuffer: receiveBuffer) }
            var counts = [0, 0]
            for _ in 0..<2 {
                // The stalled client reads only one byte. The daemon cuts it off after a window of ``SendClock``. Until
                // then, the other clients read at their rates.
                let stalled = try RawClient(port: daemon.port, receiveBuffer: receiveBuffer)
                for client in [stalled] + (counts[0] == 0 ? readers : []) {
                    try client.request("GET", "/")
                    #expect(try client.receive(atMost: 1).count == 1)
                }
                try pollBlocking("the stalled client to be cut off") {
                    clock.advance(by: .seconds(1))
                    for (index, rate) in rates.enumerated() {
                        var rest = rate
                        while rest > 0, let count = try? readers[index].receive(atMost: rest).count, count > 0 {
                            rest -= count
                        }
                        counts[index] += rate - rest
                    }
                    return daemon.connectionCount == 2
                }
                try stalled.waitForReset()
            }
            for (index, reader) in readers.enumerated() {
                while counts[index] < size {
                    let count = try reader.receive().count
                    try #require(count > 0)
                    counts[index] += count
                }
            }
        }
    }

    @Test("Without a minimum rate, a client that takes no bytes for the inactivity limit is cut off")
    func inactive() async throws {
        let size = 32 << 20
        let large = Response(body: .bytes(SharedBytes([UInt8](repeating: 0x78, count: size))))
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.requestDeadline = .milliseconds(200)
            $0.minimumAnswerRate = 0
            $0.now = { clock.now() }
        }
        try await withDaemon(Handler.answering { _ in large }, configure: configure) { daemon in
            let (reader, stalled) = (try RawClient(port: daemon.port), try RawClient(port: daemon.port))
            for client in [reader, stalled] {
                try client.request("GET", "/")
                #expect(try client.receive(atMost: 1).count == 1)
            }
            var count = 0
            try pollBlocking("the stalled client to be cut off") {
                clock.advance(by: .seconds(1))
                // Reading 16,000 bytes lets the client's kernel take more bytes, but makes too little room for the
                // daemon's next write.
                count += (try? reader.receive(atMost: 16_000).count) ?? 0
                return daemon.connectionCount == 1
            }
            try stalled.waitForReset()
            while count < size {
                let more = try reader.receive().count
                try #require(more > 0)
                count += more
            }
        }
    }

    @Test("When a client that takes no bytes is cut off, the kernel drops the bytes that wait for it")
    func nothingLeftBehind() async throws {
        let large = Response(body: .bytes(SharedBytes([UInt8](repeating: 0x78, count: 32 << 20))))
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.inactivityTimeout = .seconds(1)
            $0.minimumAnswerRate = 0
        }
        try await withDaemon(Handler.answering { _ in large }, configure: configure) { daemon in
            let client = try RawClient(port: daemon.port, receiveBuffer: 32 * 1024)
            try client.request("GET", "/")
            #expect(try client.receive(atMost: 1).count == 1)
            // The client gets a reset. It gets neither the megabytes in the daemon's socket nor an orderly close.
            try client.waitForReset()
            #expect(daemon.connectionCount == 0)
            var count = 0
            while case let bytes = try client.receive(), !bytes.isEmpty { count += bytes.count }
            #expect(count < 256 << 10)
        }
    }

    @Test("A client that waits for a slow handler or the rest of a stream is not cut off")
    func patient() async throws {
        let waiting = Mailbox<Exchange>()
        let stream = ResponseStream()
        let handler = Handler { request in
            .accept(.none) { exchange in
                if request.path == "/stream" {
                    exchange.respond(Response(body: .stream(stream, length: nil)))
                } else {
                    waiting.put(exchange)
                }
            }
        }
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.requestDeadline = .milliseconds(200)
            $0.now = { clock.now() }
        }
        try await withDaemon(handler, configure: configure) { daemon in
            let (patient, streamed) = (try RawClient(port: daemon.port), try RawClient(port: daemon.port))
            try patient.request("GET", "/slow")
            try streamed.request("GET", "/stream")
            let exchange = try waiting.wait()[0]
            stream.write("first ".utf8)
            var text = ""
            while !text.contains("first ") {
                let bytes = try streamed.receive()
                try #require(!bytes.isEmpty)
                text += String(decoding: bytes, as: UTF8.self)
            }
            for _ in 0..<4 {
                // The check that cuts off the half head also checks the other connections, and leaves them open.
                let half = try RawClient(port: daemon.port)
                try half.send("GET / HTTP/1.1\r\n")
                try pollBlocking("three connections") { daemon.connectionCount == 3 }
                try pollBlocking("the slow client to be cut off") {
                    clock.advance(by: .seconds(100))
                    return daemon.connectionCount == 2
                }
                #expect(try half.isAtEnd())
            }
            exchange.respond(Response(text: "whole"))
            #expect(try patient.answer().text == "whole")
            stream.write("last".utf8)
            stream.finish()
            while !text.contains("last") {
                let bytes = try streamed.receive()
                try #require(!bytes.isEmpty)
                text += String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
