import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// Somebody who waits with a suspended connection.
protocol SuspensionOwner: AnyObject, Sendable {
    /// The client has gone, or the daemon gives up: resume the connection at once. Called on the watcher's thread, or on
    /// the one that stops the daemon; also while ``Suspensions/suspend(_:owner:)`` has not returned yet.
    func clientLeft()
}

/// The right, and the duty, to resume one suspended connection once.
///
/// `@unchecked Sendable`: `MHD_resume_connection` may be called from any thread, and the connection cannot go away while
/// it is suspended.
struct Suspension: @unchecked Sendable {
    fileprivate let id: UInt64
    fileprivate let handle: OpaquePointer
    fileprivate let descriptor: Int32
}

/// The connections that are suspended, and the watch over their sockets: libmicrohttpd itself does not notice a client
/// that leaves while its connection is suspended.
///
/// Invariants, all under the one lock:
/// - Whoever suspends a connection is in `waiting` from before `MHD_suspend_connection` until it is resumed, and in
///   `resuming` from then until `MHD_resume_connection` has returned. Both empty and `isClosed` means that no thread is
///   about to suspend or to resume anything, which is when the daemon may be stopped.
/// - A connection leaves the epoll set before it is resumed: while it is suspended its descriptor cannot be closed, so
///   neither registering nor removing it can hit another connection's. An event that was under way by then finds no
///   entry under its number, which is never used again.
final class Suspensions: Sendable {
    private struct State {
        var waiting: [UInt64: any SuspensionOwner] = [:]
        var resuming = 0
        var nextID: UInt64 = 1
        var isClosed = false
    }

    private let state = Locked(State())
    private let epoll: Int32
    private let wake: WakeSignal
    private let isStopped = Atomic<Bool>(false)
    /// What stands in an event for the wake signal.
    private static let wakeID: UInt64 = 0

    /// Throws ``DaemonError`` when there is no descriptor left.
    init() throws {
        wake = try WakeSignal()
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        if epoll < 0 { throw DaemonError.system(.start) }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeID))
        if epoll_ctl(epoll, EPOLL_CTL_ADD, wake.descriptor, &event) != 0 {
            let error = DaemonError.system(.start)
            close(epoll)
            throw error
        }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
    }

    /// Suspends a connection, from within one of libmicrohttpd's callbacks for it. `nil`, and nothing done, when the
    /// daemon is stopping. The owner must resume it once, whoever asks.
    func suspend(_ connection: Connection, owner: any SuspensionOwner) -> Suspension? {
        let id: UInt64? = state.withLock { state in
            if state.isClosed { return nil }
            let id = state.nextID
            state.nextID += 1
            state.waiting[id] = owner
            return id
        }
        guard let id else { return nil }
        MHD_suspend_connection(connection.handle)
        var event = epoll_event(
            events: EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, data: epoll_data_t(u64: id))
        // Should the kernel have no room for it, only the hang-up goes unnoticed.
        _ = epoll_ctl(epoll, EPOLL_CTL_ADD, connection.descriptor, &event)
        return Suspension(id: id, handle: connection.handle, descriptor: connection.descriptor)
    }

    /// Lets libmicrohttpd go on with the connection. From any thread, once.
    func resume(_ suspension: Suspension) {
        let owner = state.withLock { state in
            state.resuming += 1
            return state.waiting.removeValue(forKey: suspension.id)
        }
        precondition(owner != nil, "a connection was resumed twice")
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, suspension.descriptor, nil)
        MHD_resume_connection(suspension.handle)
        state.withLock { $0.resuming -= 1 }
    }

    /// Waits for hang-ups, at most `timeout` milliseconds (-1: for ever), and tells the owners. False after
    /// ``stopWatching()``.
    func dispatch(timeout: Int32) -> Bool {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
            let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout)
            for index in 0..<Int(max(0, count)) {
                let id = events[index].data.u64
                state.withLock { $0.waiting[id] }?.clientLeft()
            }
        }
        return !isStopped.load(ordering: .acquiring)
    }

    /// Makes every owner resume, and refuses new ones.
    func hangUpAll() {
        let owners = state.withLock { state in
            state.isClosed = true
            return Array(state.waiting.values)
        }
        for owner in owners { owner.clientLeft() }
    }

    /// Whether nobody waits, and nobody is in the middle of resuming.
    var isEmpty: Bool {
        state.withLock { $0.waiting.isEmpty && $0.resuming == 0 }
    }

    /// Makes ``dispatch(timeout:)`` return false.
    func stopWatching() {
        isStopped.store(true, ordering: .releasing)
        wake.raise()
    }
}
