import Dispatch
import Primitives

/// A gate that is closed until it is opened, and then stays open. A test holds an action back with it.
///
/// Both tasks and threads can wait. Every wait has a time limit, so a hanging test fails.
package final class Gate: Sendable {
    /// The error when the gate was not opened within the limit.
    package struct TimedOut: Error, CustomStringConvertible {
        /// The missing event and the limit.
        package let description: String
    }

    /// The default limit of a wait, which is long enough for a busy machine.
    package static let defaultLimit: Duration = .seconds(60)

    private struct State {
        var isOpen = false
        var nextWaiter = 0
        var waiters: [Int: @Sendable () -> Void] = [:]
    }

    private let name: String
    private let state = Locked(State())

    /// A closed gate. The error of a wait that timed out calls the gate `name`.
    package init(_ name: String = "gate") {
        self.name = name
    }

    /// Whether the gate is open.
    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Opens the gate: all waiters go on, and later waits return at once.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter() }
    }

    /// Blocks the calling thread until the gate (or `other`, when given) is open. Never call it from a task, because
    /// there are only as many threads for tasks as cores.
    ///
    /// Throws ``TimedOut`` after `limit`.
    package func waitBlocking(or other: Gate? = nil, limit: Duration = Gate.defaultLimit) throws {
        let semaphore = DispatchSemaphore(value: 0)
        let mine = addWaiter { semaphore.signal() }
        let others = other.map { gate in (gate, gate.addWaiter { semaphore.signal() }) }
        defer {
            removeWaiter(mine)
            if let (gate, waiter) = others { gate.removeWaiter(waiter) }
        }
        guard semaphore.wait(timeout: .now() + limit.inSeconds) == .success else {
            throw TimedOut(description: "the gate \"\(name)\" did not open within \(limit)")
        }
    }

    /// Waits until the gate is open, without blocking a thread. Throws ``TimedOut`` after `limit`.
    package func wait(limit: Duration = Gate.defaultLimit) async throws {
        let opened = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let isAnswered = Locked(false)
            let answer: @Sendable (Bool) -> Void = { opened in
                let isFirst = isAnswered.withLock { answered in
                    defer { answered = true }
                    return !answered
                }
                if isFirst { continuation.resume(returning: opened) }
            }
            let waiter = addWaiter { answer(true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + limit.inSeconds) { [self] in
                removeWaiter(waiter)
                answer(false)
            }
        }
        guard opened else { throw TimedOut(description: "the gate \"\(name)\" did not open within \(limit)") }
    }

    /// Calls `waiter` once the gate is open: at once, on this thread, when the gate is open already.
    private func addWaiter(_ waiter: @escaping @Sendable () -> Void) -> Int {
        let (number, isOpen) = state.withLock { state in
            state.nextWaiter += 1
            if !state.isOpen { state.waiters[state.nextWaiter] = waiter }
            return (state.nextWaiter, state.isOpen)
        }
        if isOpen { waiter() }
        return number
    }

    private func removeWaiter(_ number: Int) {
        state.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }
}
