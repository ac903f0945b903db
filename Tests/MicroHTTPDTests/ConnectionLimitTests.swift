import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("The limit of connections")
struct ConnectionLimitTests {
    private static let echo = Handler.answering { Response(text: $0.request.target) }

    private static func configure(limit: Int, clock: ManualClock) -> (inout DaemonConfiguration) -> Void {
        return { configuration in
            configuration.connectionLimit = limit
            configuration.fullAnswer = Response(status: 503, text: "full", fields: [.retryAfter: "1"])
            // The clock stands still, so no lingering connection times out, however busy the machine is.
            configuration.now = { clock.now() }
        }
    }

    /// Opens connections, gets an answer on each, and keeps them open.
    private static func served(_ count: Int, by daemon: Daemon) throws -> [RawClient] {
        try (0..<count).map { _ in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().status == 200)
            return client
        }
    }

    private static func expectRefusal(of client: RawClient) throws {
        let answer = try client.answer()
        #expect(answer.status == 503 && answer.text == "full")
        #expect(answer["Retry-After"] == "1")
        #expect(answer["Connection"] == "close")
        #expect(try client.isAtEnd())
    }

    @Test("A client over the limit gets 503, even if it sends no request, until another client leaves")
    func refusal() async throws {
        try await withDaemon(Self.echo, configure: Self.configure(limit: 4, clock: ManualClock())) { daemon in
            var clients = try Self.served(4, by: daemon)
            for asks in [true, false] {
                let fifth = try RawClient(port: daemon.port)
                if asks { try fifth.request("GET", "/") }
                try Self.expectRefusal(of: fifth)
            }
            // The connected clients are still served.
            try clients[0].request("GET", "/again")
            #expect(try clients[0].answer().text == "/again")
            try pollBlocking("four connections") { daemon.connectionCount == 4 }
            clients.removeLast()
            try pollBlocking("three connections") { daemon.connectionCount == 3 }
            try clients.append(contentsOf: Self.served(1, by: daemon))
            try Self.expectRefusal(of: RawClient(port: daemon.port))
            withExtendedLifetime(clients) {}
        }
    }

    @Test(
        "The daemon reports a refusal with its reason before the client sees it, and does not report accepted clients",
        arguments: [(2, 0, .limit), (9, 2, .address)] as [(Int, Int, ConnectionRefusal)])
    func refusalsAreTold(limit: Int, perAddress: Int, reason: ConnectionRefusal) async throws {
        let refusals = Recorder<ConnectionRefusal>()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.connectionLimit = limit
            $0.connectionLimitPerAddress = perAddress
            $0.refused = { refusals.append($0) }
        }
        try await withDaemon(Self.echo, configure: configure) { daemon in
            let clients = try Self.served(2, by: daemon)
            #expect(refusals.elements.isEmpty)
            for count in 1...2 {
                let refused = try RawClient(port: daemon.port)
                #expect(try refused.isAtEnd())
                #expect(refusals.elements == Array(repeating: reason, count: count))
            }
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A refused client that stays connected does not count towards the limit of connections")
    func reserve() async throws {
        try await withDaemon(Self.echo, configure: Self.configure(limit: 4, clock: ManualClock())) { daemon in
            var clients = try Self.served(4, by: daemon)
            let refused = try RawClient(port: daemon.port)
            try Self.expectRefusal(of: refused)
            #expect(daemon.connectionCount == 5)
            clients.removeLast()
            try pollBlocking("four connections") { daemon.connectionCount == 4 }
            try clients.append(contentsOf: Self.served(1, by: daemon))
            #expect(daemon.connectionCount == 5)
            withExtendedLifetime((clients, refused)) {}
        }
    }

    @Test("When too many refused clients are still connected, a new client waits until any client leaves")
    func pause() async throws {
        let clock = ManualClock()
        try await withDaemon(Self.echo, configure: Self.configure(limit: 2, clock: clock)) { daemon in
            var clients = try Self.served(2, by: daemon)
            let refused = try RawClient(port: daemon.port)
            try Self.expectRefusal(of: refused)
            let late = try RawClient(port: daemon.port)
            try late.request("GET", "/late")
            #expect(daemon.connectionCount == 3)
            clients.removeLast()
            #expect(try late.answer().text == "/late")
            let later = try RawClient(port: daemon.port)
            try later.request("GET", "/later")
            // The daemon closes the connection of the silent refused client, and then accepts and refuses `later`.
            clock.advance(by: .seconds(6))
            try Self.expectRefusal(of: later)
            withExtendedLifetime((clients, late, refused)) {}
        }
    }
}
