import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// An epoll instance of one thread, for events that libmicrohttpd's epoll does not watch. Each socket has an `id` of
/// its own, so an event that arrives after its socket was closed finds no connection. Closing a socket ends its watch.
final class SocketWatch: Sendable {
    private let epoll: Int32
    private let wake: WakeSignal
    private let isStopped = Atomic<Bool>(false)
    private static let wakeID: UInt64 = 0

    /// `nil`, with the reason in `errno`, if the process has no descriptor left.
    init?() {
        guard let wake = WakeSignal() else { return nil }
        self.wake = wake
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0, control(EPOLL_CTL_ADD, wake.descriptor, Self.wakeID, EPOLLIN.rawValue) else { return nil }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
    }

    /// Watches a socket until its client has closed at least the sending side, which is reported once. `id` must not be
    /// 0. If the kernel cannot watch the socket, the hang-up of the client is not reported, without further harm.
    func addForHangUp(_ descriptor: Int32, id: UInt64) {
        _ = control(EPOLL_CTL_ADD, descriptor, id, EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue)
    }

    /// Returns false if the kernel cannot watch the socket.
    func addForReading(_ descriptor: Int32, id: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, id, EPOLLIN.rawValue)
    }

    /// Ends the watch of a socket that stays open.
    func remove(_ descriptor: Int32) {
        _ = control(EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    /// Passes to `body` the `id` of each socket with an event. `timeout`: ms; -1 is no limit. False after ``stop()``.
    func wait(timeout: Int32, _ body: (UInt64) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
            let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout)
            for index in 0..<Int(max(0, count)) {
                let id = events[index].data.u64
                if id != Self.wakeID { body(id) }
            }
        }
        return !isStopped.load(ordering: .acquiring)
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        wake.raise()
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ id: UInt64, _ events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(u64: id))
        return epoll_ctl(epoll, operation, descriptor, &event) == 0
    }
}
