import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Connections")
struct ConnectionTests {
    private static let echo = Handler.answering { Response(text: $0.request.target) }

    @Test("A client can send many requests over one connection")
    func keepAlive() async throws {
        try await withDaemon(Self.echo) { daemon in
            let client = try RawClient(port: daemon.port)
            for index in 0..<100 {
                try client.request("GET", "/\(index)")
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer.text == "/\(index)")
                #expect(answer["Connection"] == nil)
            }
            #expect(daemon.connectionCount == 1)
            try pollBlocking("no exchange") { daemon.exchangesInFlight == 0 }
        }
    }

    @Test("Requests that arrive in one packet get their answers in the order of the requests")
    func pipelining() async throws {
        try await withDaemon(Self.echo) { daemon in
            let client = try RawClient(port: daemon.port)
            let requests = (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }
            try client.send(requests.joined())
            for index in 0..<20 { #expect(try client.answer().text == "/\(index)") }
        }
    }

    @Test("Pipelined requests are answered in order, even if the handler answers each request later")
    func pipeliningSuspended() async throws {
        let waiting = Mailbox<Exchange>()
        try await withDaemon(Handler { _ in .accept(.none) { waiting.put($0) } }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send((0..<3).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
            for index in 0..<3 {
                let exchange = try waiting.wait(for: index + 1)[index]
                exchange.respond(Response(text: exchange.request.path))
                #expect(try client.answer().text == "/\(index)")
            }
        }
    }

    @Test("A client that sends Connection: close, or HTTP/1.0, gets its connection closed after the answer")
    func connectionClose() async throws {
        try await withDaemon(Self.echo) { daemon in
            for head in ["GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
                let client = try RawClient(port: daemon.port)
                try client.send(head)
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer["Connection"] == "close")
                #expect(try client.isAtEnd())
            }
        }
    }

    @Test("If a request is refused, the client gets the answer before it sends the body, and the connection is closed")
    func refusal() async throws {
        let handler = Handler { _ in .refuse(Response(status: 413, text: "no")) }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.status == 413)
            #expect(answer["Connection"] == "close")
            #expect(try client.isAtEnd())
        }
    }

    @Test(
        "While the daemon drains, each kind of answer has one Connection: close and closes its connection"
    )
    func draining() async throws {
        let shared = Response(fields: [.contentType: "text/plain"], body: .bytes(SharedBytes("shared".utf8)))
        let file = try TemporaryFile(Array("file".utf8))
        let handler = Handler.answering { exchange in
            switch exchange.request.path {
            case "/shared": return shared
            case "/file": return Response(body: .file(file.body()))
            default:
                let stream = ResponseStream()
                stream.write(Array("stream".utf8))
                stream.finish()
                return Response(fields: [.connection: "close"], body: .stream(stream, length: nil))
            }
        }
        try await withDaemon(handler) { daemon in
            let kept = try RawClient(port: daemon.port)
            try kept.request("GET", "/shared")
            #expect(try kept.answer()["Connection"] == nil)
            daemon.beginDraining()
            for name in ["shared", "file", "stream"] {
                let client = name == "shared" ? kept : try RawClient(port: daemon.port)
                try client.request("GET", "/\(name)")
                let answer = try client.answer()
                #expect(answer.text == name)
                #expect(answer.values("Connection") == ["close"])
                #expect(try client.isAtEnd())
            }
        }
    }

    @Test("An address with too many connections is refused until it closes one of its connections")
    func perAddressLimit() async throws {
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.connectionLimitPerAddress = 2
            $0.crowdAnswer = Response(status: 503, text: "too many")
        }
        try await withDaemon(Self.echo, configure: configure) { daemon in
            var first: RawClient? = try RawClient(port: daemon.port)
            let second = try RawClient(port: daemon.port)
            for client in [first!, second] {
                try client.request("GET", "/")
                #expect(try client.answer().status == 200)
            }
            // The refused client receives the reason, whether it has sent a request or not.
            for asksFirst in [true, false] {
                let third = try RawClient(port: daemon.port)
                if asksFirst { try third.request("GET", "/") }
                let answer = try third.answer()
                #expect(answer.status == 503 && answer.text == "too many")
                #expect(try third.isAtEnd())
            }
            try pollBlocking("two connections") { daemon.connectionCount == 2 }
            first = nil
            try pollBlocking("one connection") { daemon.connectionCount == 1 }
            let fourth = try RawClient(port: daemon.port)
            try fourth.request("GET", "/")
            #expect(try fourth.answer().status == 200)
        }
    }

    @Test("A client that sends a head too slowly is cut off at the deadline, while other clients are served")
    func slowHead() async throws {
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.threads = 1
            $0.requestDeadline = .milliseconds(300)
            $0.now = { clock.now() }
        }
        try await withDaemon(Self.echo, configure: configure) { daemon in
            let slow = try RawClient(port: daemon.port)
            let other = try RawClient(port: daemon.port)
            // Asks for the target and awaits the answer, which shows that the only thread of the daemon has processed
            // all earlier input.
            func ask(_ target: String) throws {
                try other.request("GET", target)
                #expect(try other.answer().text == target)
            }
            try ask("/first")
            // Every byte is activity, so the inactivity limit (a minute) never applies.
            let head = "GET / HTTP/1.1\r\nHost: test\r\nX-Slow: " + String(repeating: "x", count: 100)
            for byte in head.utf8.prefix(30) {
                try slow.send([byte])
                try ask("/meanwhile")
                clock.advance(by: .milliseconds(10))
            }
            let late = try RawClient(port: daemon.port)
            try late.send("GET /late HTTP/1.1\r\n")
            try ask("/meanwhile")
            // The daemon checks the deadlines every 75 ms, a quarter of `requestDeadline`.
            clock.advance(by: .milliseconds(100))
            #expect(try slow.isAtEnd())
            try late.send("Host: test\r\n\r\n")
            #expect(try late.answer().text == "/late")
            try ask("/again")
        }
    }

    @Test("A slow first head or body is answered with 408; a slow later head gets no answer, only the close")
    func lateAnswer() async throws {
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.requestDeadline = .milliseconds(200)
            $0.inactivityTimeout = .seconds(10)
            $0.minimumBodyRate = 1000
            $0.now = { clock.now() }
            $0.lateAnswer = Response(status: 408, text: "late")
        }
        let handler = Handler { _ in .accept(.memory(limit: 1000)) { $0.respond(Response(text: "taken")) } }
        try await withDaemon(handler, configure: configure) { daemon in
            let (head, body, kept) = (
                try RawClient(port: daemon.port), try RawClient(port: daemon.port), try RawClient(port: daemon.port)
            )
            try kept.request("GET", "/")
            #expect(try kept.answer().text == "taken")
            try head.send("GET / HTTP/1.1\r\nHost:")
            try body.send("PUT / HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n")
            #expect(try body.answer().status == 100)
            try body.send("x")
            try kept.send("GET / HTTP/1.1\r\n")
            // Once this client has its answer, the daemon has seen all earlier input.
            let other = try RawClient(port: daemon.port)
            try other.request("GET", "/")
            #expect(try other.answer().text == "taken")
            clock.advance(by: .seconds(1))
            for client in [head, body] {
                let answer = try client.answer()
                #expect(answer.status == 408 && answer.text == "late")
                #expect(answer["Connection"] == "close")
                #expect(try client.isAtEnd())
            }
            clock.advance(by: .seconds(20))
            #expect(try kept.isAtEnd())
        }
    }

    @Test("A body below the minimum average rate is cut off, and its sink abandoned; a faster body arrives whole")
    func slowBody() async throws {
        let (slowSink, steadySink) = (RecordingSink(), RecordingSink())
        let handler = Handler { request in
            .accept(.sink(request.path == "/slow" ? slowSink : steadySink)) { $0.respond(Response(text: "whole")) }
        }
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.requestDeadline = .milliseconds(200)
            $0.minimumBodyRate = 1000
            $0.now = { clock.now() }
        }
        try await withDaemon(handler, configure: configure) { daemon in
            let (slow, steady) = (try RawClient(port: daemon.port), try RawClient(port: daemon.port))
            // With the grace period, these bytes are enough for 1.8 seconds.
            try slow.send("PUT /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n")
            try slow.send(pattern(1600))
            try steady.send("PUT /steady HTTP/1.1\r\nHost: test\r\nContent-Length: 20000\r\n\r\n")
            for tenth in 1...20 {
                if tenth < 19 { try slow.send("x") }
                try steady.send(pattern(1000))
                try pollBlocking("the sent bytes") {
                    slowSink.count == 1600 + min(tenth, 18) && steadySink.count == 1000 * tenth
                }
                clock.advance(by: .milliseconds(100))
                guard tenth == 19 else { continue }
                _ = try slowSink.abandoned.wait()
                #expect(try slow.isAtEnd())
            }
            #expect(try steady.answer().text == "whole")
            try pollBlocking("one connection") { daemon.connectionCount == 1 }
        }
        #expect(steadySink.abandoned.count == 0)
    }

    @Test("An idle connection is closed after the inactivity limit")
    func inactivity() async throws {
        try await withDaemon(Self.echo, configure: { $0.inactivityTimeout = .seconds(1) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().status == 200)
            #expect(try client.isAtEnd())
        }
    }

    @Test("The daemon logs a malformed request with the status of the answer")
    func logging() async throws {
        let lines = Mailbox<String>()
        try await withDaemon(Self.echo, configure: { $0.log = { lines.put($0) } }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: many\r\n\r\n")
            #expect(try client.answer().status == 400)
            #expect(try lines.wait().contains { $0.contains("400") })
        }
    }
}
