import MicroHTTPD
import TestSupport
import Testing

@Suite("The loop in which a serving thread waits for its connections and serves them", .serialized)
struct RoundTests {
    @Test(
        "A thread answers all ready requests, even if they are more than a batch of events holds",
        arguments: [127, 128, 129, 256])
    func asManyAsEpollTellsAtOnce(count: Int) async throws {
        let hasBegun = Gate("a request that holds its thread")
        let mayGoOn = Gate("the end of the held request")
        let handler = Handler.answering { exchange in
            if exchange.request.path == "/held" {
                hasBegun.open()
                try? mayGoOn.waitBlocking()
            }
            return Response(text: exchange.request.path)
        }
        // With shorter limits, the daemon would look at overdue connections just before the clients' own limit ends,
        // and a missed request would pass unnoticed.
        let configure = { (configuration: inout DaemonConfiguration) in
            configuration.threads = 1
            configuration.inactivityTimeout = .seconds(600)
            configuration.requestDeadline = nil
        }
        try await withDaemon(handler, configure: configure) { daemon in
            let clients = try (0..<count).map { _ in try RawClient(port: daemon.port) }
            for client in clients {
                try client.request("GET", "/first")
                #expect(try client.answer().text == "/first")
            }
            let holding = try RawClient(port: daemon.port)
            try holding.request("GET", "/held")
            try hasBegun.waitBlocking()
            for client in clients { try client.request("GET", "/second") }
            mayGoOn.open()
            // No client sends more from here on, so the daemon must find each request from the bytes already sent.
            for client in clients { #expect(try client.answer().text == "/second") }
        }
    }
}
