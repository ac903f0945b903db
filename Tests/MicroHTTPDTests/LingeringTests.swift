import Foundation
import Testing

@testable import MicroHTTPD

@Suite("Lingering sockets")
struct LingeringTests {
    @Test("a client that was refused and neither sends nor closes is closed after five seconds, its place free again")
    func silence() throws {
        let registry = ConnectionRegistry()
        let sockets = LingeringSockets(watch: try SocketWatch(), registry: registry)
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, 1, 0, &pair) == 0)
        defer { close(pair[1]) }
        registry.expectOne()
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
