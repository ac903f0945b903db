import Primitives

/// A number that threads increase and a test waits for.
package final class Counter: Sendable {
    private struct State {
        var value = 0
        var gates: [(target: Int, gate: Gate)] = []
    }

    private let name: String
    private let state = Locked(State())

    /// A counter at 0. The error of a wait that timed out calls the counter `name`.
    package init(_ name: String = "counter") {
        self.name = name
    }

    /// The number now.
    package var value: Int { state.withLock { $0.value } }

    /// Adds `amount` and returns the new number.
    @discardableResult
    package func add(_ amount: Int = 1) -> Int {
        let (value, reached) = state.withLock { state in
            state.value += amount
            let value = state.value
            let reached = state.gates.filter { $0.target <= value }
            state.gates.removeAll { $0.target <= value }
            return (value, reached.map(\.gate))
        }
        for gate in reached { gate.open() }
        return value
    }

    /// Waits until the number is at least `target`. Throws ``Gate/TimedOut`` after `limit`.
    package func wait(for target: Int, limit: Duration = Gate.defaultLimit) async throws {
        try await gate(for: target).wait(limit: limit)
    }

    /// Blocks the calling thread until the number is at least `target`. Throws ``Gate/TimedOut`` after `limit`.
    package func waitBlocking(for target: Int, limit: Duration = Gate.defaultLimit) throws {
        try gate(for: target).waitBlocking(limit: limit)
    }

    private func gate(for target: Int) -> Gate {
        let gate = Gate("\(name) reaching \(target)")
        let isReached = state.withLock { state in
            if state.value < target { state.gates.append((target, gate)) }
            return state.value >= target
        }
        if isReached { gate.open() }
        return gate
    }
}
