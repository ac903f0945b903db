import Foundation
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("The stop of a daemon")
struct StopTests {
    /// Blocks the thread at the request line of `/held`, before the rest of the head is parsed.
    private struct HoldingHandler: RequestHandler {
        let hasBegun = Gate("a request that holds its thread")
        let mayEnd = Gate("the end of the held request")

        func expect(_ target: UnsafeRawBufferPointer) -> Int {
            if target.elementsEqual("/held".utf8) {
                hasBegun.open()
                try? mayEnd.waitBlocking()
            }
            return 0
        }

        func receive(_ request: Request) -> Reception {
            .accept(.none) { $0.respond(Response(text: $0.request.path)) }
        }
    }

    @Test("A daemon that stops answers all requests that clients have sent, even if no thread has read them")
    func unread() async throws {
        let handler = HoldingHandler()
        var configuration = DaemonConfiguration()
        configuration.threads = 1
        let daemon = Daemon(configuration: configuration, handler: handler)
        try daemon.start()
        let port = daemon.port
        let (texts, stop) = try await blocking {
            let held = try RawClient(port: port)
            try held.request("GET", "/held")
            try handler.hasBegun.waitBlocking()
            let others = try (0..<50).map { number in
                let client = try RawClient(port: port)
                try client.request("GET", "/\(number)")
                return client
            }
            try pollBlocking("all to be accepted") { daemon.connectionCount == 51 }
            let stop = Task { await daemon.stop(deadline: .seconds(20)) }
            try pollBlocking("the port to be closed") { (try? RawClient(port: port)) == nil }
            handler.mayEnd.open()
            return (try ([held] + others).map { try $0.answer().text }, stop)
        }
        await stop.value
        #expect(texts == ["/held"] + (0..<50).map { "/\($0)" })
    }
}
