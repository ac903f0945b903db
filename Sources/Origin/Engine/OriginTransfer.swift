import Primitives

/// A started transfer. The transfer continues when the caller releases this object.
///
/// Invariant: the paused flag changes before the transfer's thread is informed. The next ``resume()`` therefore
/// delivers every piece of a body that was held back because of the flag.
package final class OriginTransfer: Sendable {
    private let inbox: Inbox
    let id: UInt64
    private let isHeld = Locked(false)

    init(id: UInt64, inbox: Inbox) {
        self.id = id
        self.inbox = inbox
    }

    /// Ends the transfer soon, with ``OriginError/Kind/cancelled``; has no effect after its end. Any thread may call
    /// this method. The receiver may still get bytes until it gets the end.
    package func cancel() {
        inbox.append(.cancel(id))
    }

    /// Cancels the transfer only while it waits in the queue, before its first request or before a redirect to another
    /// scheme, host or port.
    package func cancelIfWaiting() {
        inbox.append(.cancelIfWaiting(id))
    }

    /// Stops the delivery of the body; any thread may call this method. The piece in delivery is the last; with content
    /// codings, all its decoded bytes are delivered. The receiver still gets the head, and the end of a transfer
    /// without further bytes. The origin is slowed down because its connection is full. The pause does not count as a
    /// stall, but it counts against the time limit of the whole transfer.
    ///
    /// Over HTTP/2, other transfers on the same connection may have to wait, too.
    package func pause() {
        isHeld.withLock { $0 = true }
    }

    /// Continues the delivery; any thread may call this method. No effect when the transfer is not paused.
    package func resume() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { wake() }
    }

    /// Whether the client holds the body back.
    var isPaused: Bool { isHeld.withLock { $0 } }

    /// Makes the transfer's thread continue the parts that were held back.
    func wake() {
        inbox.append(.wake(id))
    }
}
