import CMicroHTTPD
import Foundation
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("The serving threads")
struct ServingThreadsTests {
    @Test("When a serving thread fails to start, all other threads and their connections end")
    func startFails() throws {
        var ends: [Int32] = [-1, -1]
        // A process that another test starts meanwhile must not keep the socket open.
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        defer { close(ends[0]) }
        var configuration = DaemonConfiguration()
        configuration.threads = 3
        let core = try DaemonCore(
            configuration: configuration, handler: Handler.answering { _ in Response(text: "") }, tls: nil)
        var started: [OpaquePointer] = []
        let error = #expect(throws: DaemonError.self) {
            try ServingThreads(core: core, lastLine: { "no more" }) { options in
                if started.count == 2 { return nil }
                guard let daemon = cmhd_start(options) else { return nil }
                started.append(daemon)
                if started.count == 1 {
                    var address = sockaddr()
                    #expect(cmhd_add_connection(daemon, ends[1], &address, socklen_t(MemoryLayout<sockaddr>.size)))
                }
                return daemon
            }
        }
        #expect(error?.description.contains("no more") == true)
        #expect(started.count == 2)
        // A thread that ends closes its connections. A child process of another test may hold a copy of the socket
        // until `exec`.
        var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        #expect(poll(&end, 1, 10_000) == 1)
        var byte: UInt8 = 0
        #expect(recv(ends[0], &byte, 1, Int32(MSG_DONTWAIT)) == 0)
    }
}
