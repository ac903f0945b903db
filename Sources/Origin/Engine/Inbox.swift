import CCurl
import Primitives

/// How other threads reach a loop of the client: commands in order, and a wake-up for it.
///
/// Invariants, all held by the one lock:
/// - A command is either taken by the loop or refused; none is lost after `close`.
/// - The multi handle is woken only while it is open: `close` forgets it before the loop frees it. The wake-up is one
///   write to a socket that does not block, which is why it may happen under the lock.
final class Inbox: Sendable {
    enum Command: Sendable {
        case start(OriginTransfer, OriginRequest, any OriginReceiver)
        /// Its turn has come.
        case run(UInt64)
        case cancel(UInt64)
        case cancelIfWaiting(UInt64)
        /// What was held back may go on, or has broken.
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

    /// How many transfers were left here and are not over.
    var openTransfers: Int { state.withLock(\.openTransfers) }

    /// A transfer is over.
    func noteEnd() {
        state.withLock { $0.openTransfers -= 1 }
    }

    /// Leaves a command; `false` when nobody will take it any more.
    @discardableResult
    func append(_ command: Command) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            // The loop takes all commands at once: one wake-up for all that wait is enough.
            if state.commands.isEmpty { curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
            state.commands.append(command)
            if case .start = command { state.openTransfers += 1 }
            return true
        }
    }

    /// All commands so far, in order.
    func takeAll() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Takes the last commands; from now on there are no more.
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
