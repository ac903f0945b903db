import CMicroHTTPD
import Primitives

protocol SuspensionOwner: AnyObject, Sendable {
    /// Called when the client has gone or the daemon gives up: the owner must resume the connection at once. The call
    /// may come on any thread, before or within ``Connection/suspend(owner:)``, and more than once.
    func clientLeft()
}

/// The right, and the duty, to resume one suspended connection once. `@unchecked Sendable` is safe because
/// `MHD_resume_connection` may be called from any thread, and the connection cannot go away while it is suspended.
struct Suspension: @unchecked Sendable {
    fileprivate let id: UInt64
    fileprivate let handle: OpaquePointer
}

/// Tells the owners of suspended connections about clients that leave, because libmicrohttpd does not notice them.
///
/// Invariants, all under the one lock:
/// - An owner is in `waiting` from before `MHD_suspend_connection` until it resumes its connection, which is then
///   counted in `resuming` until `MHD_resume_connection` has returned. If both are empty and `isClosed` is set, no
///   thread is about to suspend or resume a connection, and the daemon may be stopped.
/// - The suspending thread adds the owner to `waiting` and then reads the connection's `hasHungUp`. The watcher's
///   thread sets `hasHungUp` and then reads `waiting`. So at least one thread notices a client that leaves between.
final class Suspensions: Sendable {
    private struct State {
        var waiting: [UInt64: any SuspensionOwner] = [:]
        var resuming = 0
        var isClosed = false
    }

    private let state = Locked(State())

    /// Called from within a callback for the connection. `nil`, without effect, if the daemon is stopping.
    func suspend(_ handle: OpaquePointer, id: UInt64, owner: any SuspensionOwner) -> Suspension? {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.waiting[id] = owner }
            return !state.isClosed
        }
        guard isOpen else { return nil }
        MHD_suspend_connection(handle)
        return Suspension(id: id, handle: handle)
    }

    func resume(_ suspension: Suspension) {
        let owner = state.withLock { state in
            state.resuming += 1
            return state.waiting.removeValue(forKey: suspension.id)
        }
        precondition(owner != nil, "a connection was resumed twice")
        MHD_resume_connection(suspension.handle)
        state.withLock { $0.resuming -= 1 }
    }

    /// The connection's `hasHungUp` is set before this call.
    func clientLeft(_ id: UInt64) {
        state.withLock { $0.waiting[id] }?.clientLeft()
    }

    func contains(_ id: UInt64) -> Bool {
        state.withLock { $0.waiting[id] != nil }
    }

    /// Tells all owners that their clients have left, and refuses further suspensions.
    func hangUpAll() {
        let owners = state.withLock { state in
            state.isClosed = true
            return Array(state.waiting.values)
        }
        for owner in owners { owner.clientLeft() }
    }

    /// Whether no connection is suspended and no thread is resuming one.
    var isEmpty: Bool { state.withLock { $0.waiting.isEmpty && $0.resuming == 0 } }
}
