import Foundation
import MicroHTTPD
import TestSupport
import Testing

@Suite("Clients that hang up")
struct HangUpTests {
    private static let echo = Handler.answering { Response(text: $0.request.target) }

    @Test(
        "The daemon closes the connection of a client that left in mid-request long before the deadline",
        arguments: ["GET / HTTP/1.1\r\nHost: te", "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf"])
    func unfinished(request: String) async throws {
        try await withDaemon(Self.echo) { daemon in
            for _ in 0..<200 {
                let client = try RawClient(port: daemon.port)
                try client.send(request)
            }
            let start = ContinuousClock.now
            try pollBlocking("no connection and no exchange") {
                daemon.connectionCount == 0 && daemon.exchangesInFlight == 0
            }
            // The daemon's deadlines are 20 s and 60 s, so no deadline has ended a connection.
            #expect(ContinuousClock.now - start < .seconds(15))
        }
    }

    @Test("A client that closes its sending side after its requests gets all answers")
    func halfClose() async throws {
        let handler = Handler.answering { Response(text: String(repeating: $0.request.target, count: 100_000)) }
        try await withDaemon(handler) { daemon in
            for _ in 0..<50 {
                let client = try RawClient(port: daemon.port)
                try client.send((0..<3).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
                client.halfClose()
                for index in 0..<3 {
                    #expect(try client.answer().text == String(repeating: "/\(index)", count: 100_000))
                }
                #expect(try client.isAtEnd())
            }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }
}
