import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("The spread of connections over threads")
struct ThreadLoadsTests {
    /// Clients and daemon share a process here, so every second descriptor is a client's. If descriptor numbers chose
    /// the thread, one of two threads would get nearly all connections.
    @Test("Connections with only odd or only even descriptors are spread evenly over the threads", arguments: [2, 4])
    func spread(threads: Int) async throws {
        let served = Locked<[UInt: Set<String>]>([:])
        let handler = Handler { request in
            served.withLock { _ = $0[UInt(pthread_self()), default: []].insert(request.path) }
            return .accept(.none) { $0.respond(Response(text: "")) }
        }
        try await withDaemon(handler, configure: { $0.threads = threads }) { daemon in
            // The descriptor numbers become free again after each round.
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
                try pollBlocking("no connection") { daemon.connectionCount == 0 }
            }
        }
    }

    @Test("Each new connection goes to the next thread, in turn")
    func turns() {
        let loads = ThreadLoads(threads: 4)
        #expect((0..<8).map { _ in loads.join() } == [0, 1, 2, 3, 0, 1, 2, 3])
        #expect(loads.connectionCounts == [2, 2, 2, 2])
        let one = ThreadLoads(threads: 1)
        #expect((0..<3).map { _ in one.join() } == [0, 0, 0])
    }

    @Test("An idle connection does not make two busy connections share a thread")
    func idle() {
        for idle in 0..<3 {
            let loads = ThreadLoads(threads: 2)
            let all = (0..<3).map { _ in loads.join() }
            for (place, thread) in all.enumerated() where place != idle { loads.leave(thread) }
            #expect(Set([loads.join(), loads.join()]) == [0, 1], "\(idle)")
        }
    }

    @Test("A thread that lost over an eighth of its connections gets the next connections, ahead of other threads")
    func catchingUp() {
        let few = ThreadLoads(threads: 2)
        for _ in 0..<8 { _ = few.join() }
        for _ in 0..<4 { few.leave(1) }
        for _ in 0..<4 { #expect(few.join() == 1) }
        #expect(few.connectionCounts == [4, 4])

        let many = ThreadLoads(threads: 2)
        for _ in 0..<168 { _ = many.join() }
        for _ in 0..<8 { many.leave(1) }
        #expect(many.connectionCounts == [84, 76])
        for _ in 0..<20 { _ = many.join() }
        #expect(many.connectionCounts == [94, 86])
    }
}
