import Primitives

/// A transfer that was started. It goes on when nobody holds this any more.
///
/// Invariant: the flag changes first, then the transfer's thread is told. A piece of a body that was held back because
/// of the flag is therefore delivered by the next ``resume()``, never forgotten.
public final class OriginTransfer: Sendable {
    private let inbox: Inbox
    let id: UInt64
    private let isHeld = Locked(false)

    init(id: UInt64, inbox: Inbox) {
        self.id = id
        self.inbox = inbox
    }

    /// Ends the transfer soon, with ``OriginError/Kind/cancelled``; no effect once it has ended. From any thread; bytes
    /// may still be delivered until the receiver is told of the end.
    public func cancel() {
        inbox.append(.cancel(id))
    }

    /// ``cancel()``, but only while it waits for its turn, and not a byte of it was sent.
    public func cancelIfWaiting() {
        inbox.append(.cancelIfWaiting(id))
    }

    /// Stops the delivery of the body, from any thread: what is being delivered in this moment is the last, with
    /// content codings as much as it gives. The head still comes, and so does the end of a transfer that has no more
    /// bytes. The origin is held back by its connection being full; that is not a stall, but the limit for the transfer
    /// as a whole goes on counting.
    ///
    /// Over HTTP/2 other transfers of the same connection may wait, too.
    public func pause() {
        isHeld.withLock { $0 = true }
    }

    /// Goes on with the delivery, from any thread; no effect when it was not paused.
    public func resume() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { wake() }
    }

    /// Whether the body is to be held back.
    var isPaused: Bool { isHeld.withLock { $0 } }

    /// Has the transfer's thread look at what was held back.
    func wake() {
        inbox.append(.wake(id))
    }
}
