import MicroHTTPD
import TestSupport
import Testing

@Suite("What a thread finds at once", .serialized)
struct RoundTests {
    @Test("is all answered, also where it is as much as the kernel tells at a time", arguments: [127, 128, 129, 256])
    func asManyAsEpollTellsAtOnce(count: Int) async throws {
        let hasBegun = Gate("a request that holds its thread")
        let mayGoOn = Gate("the end of that")
        let handler = Handler.answering { exchange in
            if exchange.request.path == "/held" {
                hasBegun.open()
                try? mayGoOn.waitBlocking()
            }
            return Response(text: exchange.request.path)
        }
        // Connections whose time is up would be seen to, just before the clients' patience ends.
        let configure = { (configuration: inout Daemon.Configuration) in
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
            // Nobody sends anything from here on: what was sent has to be enough.
            for client in clients { #expect(try client.answer().text == "/second") }
        }
    }
}
