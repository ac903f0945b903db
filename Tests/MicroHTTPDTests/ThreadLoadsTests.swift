import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Connections of a thread")
struct ThreadLoadsTests {
    /// The server's descriptors are the clients' neighbours here, as every second number is a client's: one thread got
    /// them all.
    @Test("clients whose descriptors have all odd or all even numbers are spread over the threads", arguments: [2, 3])
    func spread(threads: Int) async throws {
        let served = Locked<[UInt: Set<String>]>([:])
        let handler = Handler { request in
            served.withLock { _ = $0[UInt(pthread_self()), default: []].insert(request.path) }
            return .accept(.none) { $0.respond(Response(text: "")) }
        }
        try await withDaemon(handler, configure: { $0.threads = threads }) { daemon in
            // Each time they close the numbers become free again.
            for round in 0..<3 {
                var clients: [RawClient] = []
                for index in 0..<(4 * threads) {
                    let client = try RawClient(port: daemon.port)
                    try client.request("GET", "/\(index)")
                    #expect(try client.answer().status == 200)
                    clients.append(client)
                }
                #expect(served.withLock { $0.values.map(\.count) } == Array(repeating: 4, count: threads), "\(round)")
                served.withLock { $0 = [:] }
                clients = []
                try pollBlocking("closed") { daemon.connectionCount == 0 }
            }
        }
    }

    private func newSocket() -> Int32 {
        socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    @Test("a connection goes to the thread with the fewest, whatever numbers are free")
    func place() throws {
        let loads = ThreadLoads(threads: 4)
        var open: [Int32] = []
        defer { for descriptor in open { close(descriptor) } }
        for _ in 0..<40 {
            let descriptor = newSocket()
            let placed = loads.place(descriptor)
            // The same socket, under that number only.
            var kind: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            #expect(getsockopt(placed, SOL_SOCKET, SO_TYPE, &kind, &length) == 0)
            #expect(fcntl(placed, F_GETFD) == FD_CLOEXEC)
            open.append(placed)
        }
        #expect(loads.connectionCounts == [10, 10, 10, 10])

        // Everybody of one thread goes, and those who come next take their place.
        let left = open.filter { $0 % 4 == 1 }
        for descriptor in left { loads.leave(descriptor) }
        #expect(loads.connectionCounts == [10, 0, 10, 10])
        for _ in left { open.append(loads.place(newSocket())) }
        #expect(loads.connectionCounts == [10, 10, 10, 10])
    }

    @Test("with one thread a descriptor stays what it is")
    func oneThread() {
        let loads = ThreadLoads(threads: 1)
        let descriptors = (0..<3).map { _ in newSocket() }
        defer { for descriptor in descriptors { close(descriptor) } }
        #expect(descriptors.map(loads.place) == descriptors)
        #expect(loads.connectionCounts == [3])
        for descriptor in descriptors { loads.leave(descriptor) }
        #expect(loads.connectionCounts == [0])
    }
}
