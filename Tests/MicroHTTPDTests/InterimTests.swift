import Foundation
import HTTPTypes
import MicroHTTPD
import Testing

@Suite("Interim responses")
struct InterimTests {
    private static let link = HTTPField.Name("Link")!

    @Test("A pipelined request gets interim responses before its answer, even while the handler prepares the answer")
    func beforeTheAnswer() async throws {
        let waiting = Mailbox<Exchange>()
        let handler = Handler { _ in
            .accept(.none) { exchange in
                #expect(exchange.sendInterim(102))
                waiting.put(exchange)
            }
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send((0..<3).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
            for index in 0..<3 {
                #expect(try client.answer().status == 102)
                let exchange = try waiting.wait(for: index + 1)[index]
                #expect(exchange.sendInterim(103, fields: [Self.link: "</a>", .contentLength: "5"]))
                let hints = try client.answer()
                #expect(hints.status == 103)
                #expect(hints.fields.map(\.name) == ["Link"])
                exchange.respond(Response(text: exchange.request.path))
                #expect(try client.answer().text == "/\(index)")
                #expect(!exchange.sendInterim(103))
            }
        }
    }

    @Test("An HTTP/1.0 client gets the answer without interim responses")
    func oldClient() async throws {
        let handler = Handler.answering { Response(text: $0.sendInterim(103) ? "sent" : "not sent") }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("GET / HTTP/1.0\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.status == 200)
            #expect(answer.text == "not sent")
        }
    }

    @Test("A client that does not read gets no partial interim response: a connection without room is closed")
    func noRoom() async throws {
        let done = Mailbox<Void>()
        let handler = Handler.answering { exchange in
            let fields: HTTPFields = [Self.link: String(repeating: "x", count: 50_000)]
            while exchange.sendInterim(103, fields: fields) {}
            done.put(())
            return Response(text: "done")
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port, receiveBuffer: 4096)
            try client.request("GET", "/")
            _ = try done.wait()
            do {
                while true {
                    let answer = try client.answer()
                    if answer.status == 200 { break }
                    #expect(answer["Link"]?.utf8.count == 50_000)
                }
            } catch let failure as RawClient.Failure {
                #expect(failure.description == "the connection ended")
            }
        }
    }

    @Test("An exchange sends no interim response after its client has left")
    func clientLeft() async throws {
        let waiting = Mailbox<Exchange>()
        let left = Mailbox<Void>()
        let handler = Handler { _ in
            .accept(.none) { exchange in
                exchange.onHangUp { left.put(()) }
                waiting.put(exchange)
            }
        }
        try await withDaemon(handler) { daemon in
            var client: RawClient? = try RawClient(port: daemon.port)
            try client?.request("GET", "/")
            let exchange = try waiting.wait()[0]
            client = nil
            _ = try left.wait()
            #expect(!exchange.sendInterim(103))
        }
    }
}
