import CMicroHTTPD
import Primitives

/// Somebody who waits with a suspended connection.
protocol SuspensionOwner: AnyObject, Sendable {
    /// The client has gone, or the daemon gives up: resume the connection at once. Called on the watcher's thread, or
    /// on the one that stops the daemon; also while ``Suspensions/suspend(_:owner:)`` has not returned yet, and then
    /// maybe by it. It may come more than once.
    func clientLeft()
}

/// The right, and the duty, to resume one suspended connection once.
///
/// `@unchecked Sendable`: `MHD_resume_connection` may be called from any thread, and the connection cannot go away
/// while it is suspended.
struct Suspension: @unchecked Sendable {
    fileprivate let id: UInt64
    fileprivate let handle: OpaquePointer
}

/// The connections that are suspended, by their numbers: libmicrohttpd itself does not notice a client that leaves
/// while its connection is suspended.
///
/// Invariants, all under the one lock:
/// - Whoever suspends a connection is in `waiting` from before `MHD_suspend_connection` until it is resumed, and in
///   `resuming` from then until `MHD_resume_connection` has returned. Both empty and `isClosed` means that no thread is
///   about to suspend or to resume anything, which is when the daemon may be stopped.
/// - Of an entry in `waiting` and a connection's `hasHungUp`, whoever comes second sees the other: so a client that
///   leaves while its connection is being suspended is noticed by one thread or the other, or by both.
final class Suspensions: Sendable {
    private struct State {
        var waiting: [UInt64: any SuspensionOwner] = [:]
        var resuming = 0
        var isClosed = false
    }

    private let state = Locked(State())

    /// Suspends a connection, from within one of libmicrohttpd's callbacks for it. `nil`, and nothing done, when the
    /// daemon is stopping. The owner must resume it once, whoever asks.
    func suspend(_ connection: Connection, owner: any SuspensionOwner) -> Suspension? {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.waiting[connection.id] = owner }
            return !state.isClosed
        }
        guard isOpen else { return nil }
        MHD_suspend_connection(connection.handle)
        if connection.hasHungUp.load(ordering: .acquiring) { owner.clientLeft() }
        return Suspension(id: connection.id, handle: connection.handle)
    }

    /// Lets libmicrohttpd go on with the connection. From any thread, once.
    func resume(_ suspension: Suspension) {
        let owner = state.withLock { state in
            state.resuming += 1
            return state.waiting.removeValue(forKey: suspension.id)
        }
        precondition(owner != nil, "a connection was resumed twice")
        MHD_resume_connection(suspension.handle)
        state.withLock { $0.resuming -= 1 }
    }

    /// Tells whoever waits with the connection, if somebody does, that its client has gone. `hasHungUp` is set already.
    func clientLeft(_ id: UInt64) {
        state.withLock { $0.waiting[id] }?.clientLeft()
    }

    /// Whether somebody waits with the connection of that number.
    func contains(_ id: UInt64) -> Bool {
        state.withLock { $0.waiting[id] != nil }
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
}
