import MicroHTTPD
import TestSupport
import Testing

@Suite("The early end of streamed responses")
struct StreamEndTests {
    @Test(
        "A stream that fails breaks the answer off, chunked or with a known length",
        arguments: [nil, 1000] as [Int64?])
    func failure(length: Int64?) async throws {
        let stream = ResponseStream()
        stream.write(pattern(100))
        let closed = Mailbox<Void>()
        stream.onClose { closed.put(()) }
        try await withDaemon(Handler.streaming(stream, length: length)) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            _ = try client.receive()
            stream.fail()
            #expect(throws: RawClient.Failure.self) { try client.answer() }
            _ = try closed.wait()
        }
    }

    @Test(
        "When a producer aborts a stream, finished or not, the stream ends at once, even if its client does not read",
        arguments: [false, true])
    func abort(isFinished: Bool) async throws {
        let stream = ResponseStream()
        for _ in 0..<256 { stream.write(pattern(64 << 10)) }
        if isFinished { stream.finish() }
        let closed = Mailbox<Void>()
        stream.onClose { closed.put(()) }
        try await withDaemon(Handler.streaming(stream)) { daemon in
            let client = try RawClient(port: daemon.port, receiveBuffer: 32 * 1024)
            try client.request("GET", "/")
            #expect(try client.receive(atMost: 1).count == 1)
            #expect(closed.count == 0)
            stream.abort()
            _ = try closed.wait()
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
            #expect(stream.bufferedCount == 0)
            #expect(stream.write("x".utf8) == .closed)
        }
    }

    @Test(
        "An abort ends a stream that waits for bytes; an abort after the stream's end does not affect the next answer"
    )
    func abortWaiting() async throws {
        let streams = Mailbox<ResponseStream>()
        let handler = Handler.answering { _ in
            let stream = ResponseStream()
            stream.write("x".utf8)
            streams.put(stream)
            return Response(body: .stream(stream, length: nil))
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/first")
            let first = try streams.wait()[0]
            first.finish()
            #expect(try client.answer().text == "x")
            try client.request("GET", "/second")
            let second = try streams.wait(for: 2)[1]
            first.abort()
            second.write("y".utf8)
            second.finish()
            #expect(try client.answer().text == "xy")
            try client.request("GET", "/third")
            let third = try streams.wait(for: 3)[2]
            third.abort()
            #expect(throws: RawClient.Failure.self) { try client.answer() }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    /// Suspends each connection once before it answers, except for `/idle`.
    private struct Ending: RequestHandler {
        func readyResponse(to head: borrowing RawHead) -> ReadyResponse {
            String(decoding: head.target, as: UTF8.self) == "/idle" ? .none : .soon
        }

        func receive(_ request: Request) -> Reception {
            .accept(.none) { exchange in
                let stream = ResponseStream()
                let isEmpty = request.path.hasPrefix("/finished")
                if !isEmpty { stream.write("x".utf8) }
                switch request.path {
                case "/finished", "/finished-short-of-length": stream.finish()
                case "/failed": stream.fail()
                case "/aborted", "/aborted-of-length": stream.abort()
                default: return exchange.respond(Response(text: "whole"))
                }
                exchange.respond(
                    Response(body: .stream(stream, length: request.path.hasSuffix("-length") ? 1000 : nil)))
            }
        }
    }

    @Test(
        "The daemon closes a connection after the last answer, even if the client does not close its side",
        arguments: [
            ["/failed HTTP/1.1"], ["/aborted HTTP/1.1"], ["/aborted-of-length HTTP/1.1"], ["/finished HTTP/1.0"],
            ["/whole HTTP/1.1", "/failed HTTP/1.1"], ["/whole HTTP/1.1", "/aborted HTTP/1.1"],
            ["/whole HTTP/1.1", "/aborted-of-length HTTP/1.1"], ["/whole HTTP/1.1", "/finished HTTP/1.0"],
            ["/finished-short-of-length HTTP/1.1"],
        ])
    func closes(requests: [String]) async throws {
        try await withDaemon(Ending(), configure: { $0.threads = 1 }) { daemon in
            // This connection is quiet for longer than the connection that the daemon closes, but it stays open.
            let idle = try RawClient(port: daemon.port)
            try idle.request("GET", "/idle")
            #expect(try idle.answer().text == "whole")
            let client = try RawClient(port: daemon.port)
            try client.send(requests.map { "GET \($0)\r\nHost: test\r\n\r\n" }.joined())
            for _ in requests.dropLast() { #expect(try client.answer().text == "whole") }
            while try !client.receive().isEmpty {}
            try pollBlocking("one connection less", limit: .seconds(10)) { daemon.connectionCount == 1 }
            client.halfClose()
            try idle.request("GET", "/idle")
            #expect(try idle.answer().text == "whole")
        }
    }

    @Test("A stream that ends before its declared length breaks the answer off")
    func tooShort() async throws {
        let stream = ResponseStream()
        stream.write(pattern(100))
        stream.finish()
        try await withDaemon(Handler.streaming(stream, length: 1000)) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(throws: RawClient.Failure.self) { try client.answer() }
        }
    }

    @Test("The daemon notices that a client has left even while its stream has no bytes to send")
    func clientLeaves() async throws {
        let stream = ResponseStream()
        let closed = Mailbox<Void>()
        stream.onClose { closed.put(()) }
        try await withDaemon(Handler.streaming(stream)) { daemon in
            var client: RawClient? = try RawClient(port: daemon.port)
            try client?.request("GET", "/")
            _ = try client?.receive()
            client = nil
            _ = try closed.wait()
            #expect(stream.write("x".utf8) == .closed)
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("A stream that waits does not keep the daemon from stopping")
    func stop() async throws {
        let stream = ResponseStream()
        let closed = Mailbox<Void>()
        stream.onClose { closed.put(()) }
        let client = Mailbox<Connected>()
        try await withDaemon(Handler.streaming(stream), deadline: .zero) { daemon in
            let raw = try RawClient(port: daemon.port)
            try raw.request("GET", "/")
            _ = try raw.receive()
            client.put(Connected(raw))
        }
        #expect(closed.count == 1)
        #expect(try await blocking { try client.wait()[0].client.isAtEnd() })
    }
}
