import Foundation
import MicroHTTPD
import Testing

@Suite("The start of a daemon")
struct StartTests {
    private static let handler = Handler.answering { _ in Response() }

    private func error(host: String, port: UInt16) -> DaemonError? {
        var configuration = DaemonConfiguration()
        configuration.host = host
        configuration.port = port
        do {
            try Daemon(configuration: configuration, handler: Self.handler).start()
            return nil
        } catch {
            return error as? DaemonError
        }
    }

    @Test("A start on a port in use fails with EADDRINUSE")
    func portInUse() async throws {
        try await withDaemon(Self.handler) { daemon in
            let error = error(host: "127.0.0.1", port: daemon.port)
            #expect(error?.step == .listen)
            #expect(error?.code == EADDRINUSE)
            #expect(error?.reason == "Address already in use")
        }
    }

    @Test("A daemon does not start if its host name is unknown, or its address belongs to another machine")
    func badHost() throws {
        #expect(error(host: "not a host", port: 0)?.step == .resolve)
        let foreign = try #require(error(host: "192.0.2.1", port: 0))
        #expect(foreign.step == .listen)
        #expect(foreign.code == EADDRNOTAVAIL)
    }

    @Test("A daemon can listen on a port immediately after another daemon on that port has stopped")
    func restart() async throws {
        let port = try await withDaemon(Self.handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/", fields: ["Connection: close"])
            _ = try client.answer()
            return daemon.port
        }
        try await withDaemon(Self.handler, configure: { $0.port = port }) { daemon in
            #expect(daemon.port == port)
        }
    }

    @Test("A daemon with a single thread serves requests")
    func oneThread() async throws {
        try await withDaemon(Self.handler, configure: { $0.threads = 1 }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().status == 200)
        }
    }
}
