import CMicroHTTPD
import Foundation
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Lingering sockets")
struct LingeringTests {
    /// Refuses requests that are defective or have a body.
    private static let handler = Handler { request in
        if request.defect == nil, !request.hasBody { return .accept(.none) { $0.respond(Response()) } }
        return .refuse(Response(status: request.defect?.status ?? 413, text: "refused"))
    }

    @Test("A client refused for an overflowing Content-Length gets the answer, even if it goes on sending")
    func invalidLength() async throws {
        try await withDaemon(Self.handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("PUT", "/", fields: ["Content-Length: 9223372036854775808"])
            #expect(try client.answer().status == 400)
            #expect(try client.isAtEnd())
            try client.send([UInt8](repeating: 0x78, count: 8 << 20))
            #expect(daemon.connectionCount == 1)
        }
    }

    @Test("A daemon that stops does not reset the connection of a refused client that is still sending")
    func stop() async throws {
        // The clock stands still: a busy machine may take long to stop listening, and that time must not count as
        // silence of the client.
        var configuration = DaemonConfiguration()
        let clock = ManualClock()
        configuration.now = { clock.now() }
        let daemon = Daemon(configuration: configuration, handler: Self.handler)
        try daemon.start()
        let port = daemon.port
        let client = try await blocking {
            let client = try RawClient(port: port)
            try client.request("PUT", "/", fields: ["Content-Length: \(64 << 20)"])
            #expect(try client.isAtEnd() == false)
            return Connected(client)
        }
        async let stopped: Void = daemon.stop(deadline: .seconds(20))
        try await blocking { [client] in
            try pollBlocking("the port to be closed") { (try? RawClient(port: port)) == nil }
            try client.client.send([UInt8](repeating: 0x78, count: 64 << 20))
            #expect(try client.client.answer().status == 413)
            client.client.halfClose()
        }
        await stopped
    }

    @Test("When the limit of lingering sockets is reached, add() refuses a further socket")
    func limit() throws {
        let registry = ConnectionRegistry()
        let sockets = LingeringSockets(
            watch: try #require(SocketWatch()), registry: registry, limit: 1, now: MonotonicClock.milliseconds)
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        defer { pair.forEach { close($0) } }
        registry.expect(1)
        registry.expect(1)
        #expect(sockets.add(pair[0], id: 7))
        #expect(!sockets.add(pair[1], id: 8))
        sockets.closeAll()
        #expect(registry.count == 1)
        #expect(sockets.add(pair[1], id: 8))
        sockets.closeAll()
        #expect(registry.count == 0)
    }

    @Test("A silent refused client is disconnected after five seconds, and then no longer counts as a connection")
    func silence() throws {
        let registry = ConnectionRegistry()
        let sockets = LingeringSockets(
            watch: try #require(SocketWatch()), registry: registry, limit: 10, now: MonotonicClock.milliseconds)
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        defer { close(pair[1]) }
        registry.expect(1)
        #expect(sockets.add(pair[0], id: 7))
        close(pair[0])
        let now = MonotonicClock.milliseconds()
        sockets.closeOverdue(now: now + 4000)
        #expect(registry.count == 1)
        sockets.closeOverdue(now: now + 6000)
        #expect(registry.count == 0)
        var byte: UInt8 = 0
        #expect(recv(pair[1], &byte, 1, 0) == 0)
    }
}
