import Foundation
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("Answers that are announced as ready soon")
struct SoonTests {
    /// Announces the answer to `/N/…` as ready soon the first N times that the daemon asks, and then returns it.
    private struct Handler: RequestHandler {
        /// The targets for which the daemon asked, in order.
        let asked = Recorder<String>()
        let hasBegun = Gate("a request that holds its thread")
        let mayGoOn = Gate("the end of the held request")

        func readyResponse(to head: borrowing RawHead) -> ReadyResponse {
            let target = String(decoding: head.target, as: UTF8.self)
            if target == "/held" {
                hasBegun.open()
                try? mayGoOn.waitBlocking()
                return .none
            }
            asked.append(target)
            let times = asked.elements.count { $0 == target }
            let wanted = target.split(separator: "/").first.flatMap { Int($0) } ?? 0
            return times > wanted ? .response(Response(text: "ready \(target)")) : .soon
        }

        func receive(_ request: Request) -> Reception {
            .accept(.none) { exchange in
                let response = Response(text: "received \(exchange.request.path)")
                if request.path.hasSuffix("later") {
                    DispatchQueue.global().async { exchange.respond(response) }
                } else {
                    exchange.respond(response)
                }
            }
        }
    }

    @Test("The daemon asks a handler at most twice for a ready answer, and then passes the request to it normally")
    func twice() async throws {
        let handler = Handler()
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            for (target, word) in [
                ("/0/a", "ready"), ("/1/a", "ready"), ("/2/a", "received"), ("/1/b", "ready"), ("/3/later", "received"),
                ("/0/b", "ready"),
            ] {
                try client.request("GET", target)
                #expect(try client.answer().text == "\(word) \(target)")
            }
            try client.request("HEAD", "/1/head")
            let head = try client.answer(toHead: true)
            #expect(head.status == 200 && head["Content-Length"] == "13")
            try pollBlocking("no exchange") { daemon.exchangesInFlight == 0 }
        }
        #expect(
            handler.asked.elements == [
                "/0/a", "/1/a", "/1/a", "/2/a", "/2/a", "/1/b", "/1/b", "/3/later", "/3/later", "/0/b", "/1/head",
                "/1/head",
            ])
    }

    @Test("Each pipelined request gets its own answer, even if the handler says that the answer is ready soon")
    func pipelined() async throws {
        try await withDaemon(Handler()) { daemon in
            let client = try RawClient(port: daemon.port)
            let targets = (0..<200).map { "/\($0 % 3)/\($0)" + ($0 % 7 == 0 ? "later" : "") }
            try client.send(targets.map { "GET \($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
            for (number, target) in targets.enumerated() {
                #expect(try client.answer().text == (number % 3 == 2 ? "received " : "ready ") + target)
            }
        }
    }

    @Test("If a handler says that its answer is ready soon, the daemon serves all waiting connections, then asks again")
    func othersFirst() async throws {
        let handler = Handler()
        try await withDaemon(handler, configure: { $0.threads = 1 }) { daemon in
            let held = try RawClient(port: daemon.port)
            let others = try (0..<8).map { _ in try RawClient(port: daemon.port) }
            // Each client has an answer before the request `/held` blocks the thread.
            for (number, client) in others.enumerated() {
                try client.request("GET", "/0/first-\(number)")
                _ = try client.answer()
            }
            try held.request("GET", "/held")
            try handler.hasBegun.waitBlocking()
            for (number, client) in others.enumerated() {
                try client.request("GET", number % 2 == 0 ? "/1/soon" + "-\(number)" : "/0/now-\(number)")
            }
            handler.mayGoOn.open()
            for client in others { #expect(try client.answer().text.hasPrefix("ready")) }
        }
        let asked = Array(handler.asked.elements.dropFirst(8))
        #expect(asked.count == 12)
        let again = asked.indices.filter { asked[..<$0].contains(asked[$0]) }
        #expect(again == Array(8..<12))
    }

    @Test("A client that leaves before its announced answer is ready frees its connection and delays no other client")
    func left() async throws {
        try await withDaemon(Handler()) { daemon in
            for number in 0..<300 {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", "/\(1 + number % 2)/\(number)")
            }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/1/last")
            #expect(try client.answer().text == "ready /1/last")
        }
    }

    @Test(
        "A stopping daemon sends answers announced as ready soon, or closes the connection at the stop's deadline",
        arguments: [.seconds(20), .zero] as [Duration])
    func stopped(deadline: Duration) async throws {
        let handler = Handler()
        var configuration = DaemonConfiguration()
        configuration.threads = 1
        let daemon = Daemon(configuration: configuration, handler: handler)
        try daemon.start()
        let port = daemon.port
        let (texts, stop) = try await blocking {
            let held = try RawClient(port: port)
            try held.request("GET", "/held")
            try handler.hasBegun.waitBlocking()
            let clients = try (0..<50).map { number in
                let client = try RawClient(port: port)
                try client.request("GET", "/1/\(number)")
                return client
            }
            try pollBlocking("all to be accepted") { daemon.connectionCount == 51 }
            let stop = Task { await daemon.stop(deadline: deadline) }
            try pollBlocking("the port to be closed") { (try? RawClient(port: port)) == nil }
            handler.mayGoOn.open()
            // `nil` means that the daemon has closed the connection.
            return (clients.map { try? $0.answer().text }, stop)
        }
        await stop.value
        for (number, text) in texts.enumerated() {
            #expect(text == "ready /1/\(number)" || text == nil && deadline == .zero)
        }
    }
}
