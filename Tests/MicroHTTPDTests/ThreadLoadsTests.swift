import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Connections of a thread")
struct ThreadLoadsTests {
    /// Every second number is a client's here, as these are in the same process: where numbers decided, one of two
    /// threads got nearly all.
    @Test("clients whose descriptors have all odd or all even numbers are spread over the threads", arguments: [2, 4])
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

    @Test("the threads have their turn")
    func turns() {
        let loads = ThreadLoads(threads: 4)
        #expect((0..<8).map { _ in loads.join() } == [0, 1, 2, 3, 0, 1, 2, 3])
        #expect(loads.connectionCounts == [2, 2, 2, 2])
        let one = ThreadLoads(threads: 1)
        #expect((0..<3).map { _ in one.join() } == [0, 0, 0])
    }

    @Test("one idle connection is no reason for two busy ones to share a thread")
    func idle() {
        for idle in 0..<3 {
            let loads = ThreadLoads(threads: 2)
            let all = (0..<3).map { _ in loads.join() }
            for (place, thread) in all.enumerated() where place != idle { loads.leave(thread) }
            #expect(Set([loads.join(), loads.join()]) == [0, 1], "\(idle)")
        }
    }

    @Test("a thread whose connections left catches up at once when they were few, and in turn when they were many")
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
