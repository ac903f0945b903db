import CMicroHTTPD
import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("A serving thread")
struct ServingThreadTests {
    @Test(
        "A thread that never waits yields its processor now and then if it gives ready answers, otherwise never",
        arguments: [true, false])
    func offers(answersAtOnce: Bool) throws {
        let epoll = epoll_create1(0)
        let signal = try #require(WakeSignal())
        defer { close(epoll) }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: 7))
        #expect(epoll_ctl(epoll, EPOLL_CTL_ADD, signal.descriptor, &event) == 0)
        signal.raise()

        var offers = 0
        let thread = ServingThread { offers += 1 }
        // 100 ms of this thread's processor time, which is 15 times ``Turn/longest``.
        let end = processorTime() + 100_000_000
        while processorTime() < end {
            if answersAtOnce { thread.noteAnswer() }
            var told = epoll_event()
            guard thread.wait(epoll, &told, room: 2, timeout: -1) == 1 else { return _ = Issue.record("nothing found") }
        }
        #expect(answersAtOnce ? offers > 5 : offers == 0)
    }

    @Test("A thread gets an event for each open connection that it has marked to look at again")
    func unfinished() {
        let epoll = epoll_create1(0)
        defer { close(epoll) }
        let thread = ServingThread()
        let connections = (1...5).map { OpaquePointer(bitPattern: $0 << 4)! }
        for connection in connections { thread.lookAgain(at: connection) }
        thread.noteClose(of: connections[0], descriptor: 1)
        var seen: Set<OpaquePointer> = []
        var events = [epoll_event](repeating: epoll_event(), count: 3)
        for expected in [3, 1] {
            let count = thread.wait(epoll, &events, room: 3, timeout: 0)
            #expect(count == expected)
            for event in events.prefix(Int(count)) {
                #expect(event.events == EPOLLHUP.rawValue)
                seen.insert(OpaquePointer(event.data.ptr))
            }
        }
        #expect(seen == Set(connections.dropFirst()))
        #expect(thread.wait(epoll, &events, room: 3, timeout: 0) == 0)
    }
}
