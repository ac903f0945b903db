import CCurl
import Primitives
import Synchronization

/// A started transfer, which continues when the caller releases this object. Any thread may call its methods.
/// ``resume()`` clears `isHeld` before it wakes the transfer's thread, so the thread delivers every held piece.
package final class OriginTransfer: Sendable {
    private let inbox: Inbox
    let id: UInt64
    private let isHeld = Atomic<Bool>(false)

    init(id: UInt64, inbox: Inbox) {
        self.id = id
        self.inbox = inbox
    }

    /// Ends the transfer soon, with ``OriginError/Kind/cancelled``. The receiver may get bytes until it gets the end.
    package func cancel() {
        inbox.append(.cancel(id, onlyIfWaiting: false))
    }

    /// Cancels the transfer if it is queued: before its first request or a redirect to another scheme, host or port.
    package func cancelIfWaiting() {
        inbox.append(.cancel(id, onlyIfWaiting: true))
    }

    /// Stops the delivery of the body after the current piece with all its decoded bytes; the head, and the end of a
    /// transfer without further bytes, still arrive. Over HTTP/2, other transfers on the connection may have to wait,
    /// too. The pause does not count as a stall, but against the limit of the whole transfer.
    package func pause() {
        isHeld.store(true, ordering: .releasing)
    }

    package func resume() {
        if isHeld.exchange(false, ordering: .acquiringAndReleasing) { wake() }
    }

    var isPaused: Bool { isHeld.load(ordering: .acquiring) }

    /// Makes the transfer's thread continue to receive and to send.
    func wake() {
        inbox.append(.wake(id))
    }
}

/// Passes commands from other threads to a loop, in order, and wakes it. ``append(_:)`` refuses a command once the
/// inbox has closed, before the loop frees the multi handle. The wake-up, under the lock, never blocks.
final class Inbox: Sendable {
    enum Command: Sendable {
        case start(OriginTransfer, OriginRequest, any OriginReceiver)
        /// The transfer leaves the queue and runs.
        case run(UInt64)
        case cancel(UInt64, onlyIfWaiting: Bool)
        /// The transfer continues to receive and to send, or fails because its upload failed.
        case wake(UInt64)
        case shutDown
    }

    private struct State {
        var commands: [Command] = []
        /// The multi handle as an address; `nil` once the inbox is closed.
        var multi: UInt?
        var openTransfers = 0
    }

    private let state: Locked<State>

    init(multi: UnsafeMutableRawPointer) {
        state = Locked(State(multi: UInt(bitPattern: multi)))
    }

    var openTransfers: Int { state.withLock(\.openTransfers) }

    func noteEnd() {
        state.withLock { $0.openTransfers -= 1 }
    }

    /// `false` when the inbox is closed.
    @discardableResult
    func append(_ command: Command) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            // The loop takes all commands at once, so the first command wakes it for all.
            if state.commands.isEmpty { curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
            state.commands.append(command)
            if case .start = command { state.openTransfers += 1 }
            return true
        }
    }

    /// Takes all waiting commands, in order. `closing` also closes the inbox, so that these commands are the last.
    func takeAll(closing: Bool = false) -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            if closing { state.multi = nil }
            return state.commands
        }
    }
}
