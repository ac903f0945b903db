import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Connections of a thread")
struct ThreadLoadsTests {
    /// Every second number is a client's here, as these are in the same process: with two threads one of them got
    /// nearly all.
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

    @Test("the threads have their turn, whatever numbers are free")
    func turns() throws {
        let sockets = Sockets(threads: 4)
        for _ in 0..<40 {
            let placed = try sockets.open()
            // The same socket, under that number only.
            var kind: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            #expect(getsockopt(placed, SOL_SOCKET, SO_TYPE, &kind, &length) == 0)
            #expect(fcntl(placed, F_GETFD) == FD_CLOEXEC)
        }
        #expect(sockets.loads.connectionCounts == [10, 10, 10, 10])
    }

    @Test("an idle connection is no reason for two busy ones to share a thread")
    func idle() throws {
        for _ in 0..<2 {
            let sockets = Sockets(threads: 2)
            let placed = try (0..<3).map { _ in try sockets.open() }
            #expect(Set(placed.dropFirst().map { $0 % 2 }).count == 2, "\(placed)")
        }
    }

    @Test("a thread whose connections left catches up at once when they were few, and in turn when they were many")
    func catchingUp() throws {
        let sockets = Sockets(threads: 2)
        let few = try (0..<8).map { _ in try sockets.open() }
        for descriptor in few where descriptor % 2 == 1 { sockets.loads.leave(descriptor) }
        for _ in 0..<4 { _ = try sockets.open() }
        #expect(sockets.loads.connectionCounts == [4, 4])

        let many = try (0..<160).map { _ in try sockets.open() }
        #expect(sockets.loads.connectionCounts == [84, 84])
        for descriptor in many.filter({ $0 % 2 == 1 }).prefix(8) { sockets.loads.leave(descriptor) }
        #expect(sockets.loads.connectionCounts == [84, 76])
        for _ in 0..<20 { _ = try sockets.open() }
        #expect(sockets.loads.connectionCounts == [94, 86])
    }

    @Test("with one thread a descriptor stays what it is")
    func oneThread() throws {
        let sockets = Sockets(threads: 1)
        let accepted = try (0..<3).map { _ in try Sockets.new() }
        #expect(accepted.map(sockets.place) == accepted)
        #expect(sockets.loads.connectionCounts == [3])
        for descriptor in accepted { sockets.loads.leave(descriptor) }
        #expect(sockets.loads.connectionCounts == [0])
    }

    /// Sockets that were placed. They stay open when they have left, too, so that their numbers are in use.
    private final class Sockets {
        let loads: ThreadLoads
        private var descriptors: [Int32] = []

        init(threads: Int) {
            loads = ThreadLoads(threads: threads)
        }

        deinit {
            for descriptor in descriptors { close(descriptor) }
        }

        static func new() throws -> Int32 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            try #require(descriptor >= 0)
            return descriptor
        }

        func open() throws -> Int32 { place(try Self.new()) }

        func place(_ descriptor: Int32) -> Int32 {
            let placed = loads.place(descriptor)
            descriptors.append(placed)
            return placed
        }
    }
}
