import CCurl
import Primitives

/// Passes commands from other threads to a loop of the client, in order, and wakes the loop.
///
/// Invariants, protected by a single lock:
/// - The loop takes a command, or ``append(_:)`` refuses it; no command is lost after `close`.
/// - The multi handle is woken only while it is open, because `close` forgets it before the loop frees it. The wake-up
///   is a write to a non-blocking socket, so it may happen under the lock.
final class Inbox: Sendable {
    enum Command: Sendable {
        case start(OriginTransfer, OriginRequest, any OriginReceiver)
        /// The transfer leaves the queue and runs.
        case run(UInt64)
        case cancel(UInt64)
        case cancelIfWaiting(UInt64)
        /// The transfer continues a part that was held back, or fails because its upload failed.
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

    /// The number of transfers that were started through this inbox and have not ended.
    var openTransfers: Int { state.withLock(\.openTransfers) }

    /// Counts the end of a transfer.
    func noteEnd() {
        state.withLock { $0.openTransfers -= 1 }
    }

    /// Adds a command; returns `false` when the inbox is closed.
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

    /// Takes all waiting commands, in order.
    func takeAll() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Takes the last commands and closes the inbox.
    func close() -> [Command] {
        state.withLock { state in
            defer {
                state.commands = []
                state.multi = nil
            }
            return state.commands
        }
    }
}
