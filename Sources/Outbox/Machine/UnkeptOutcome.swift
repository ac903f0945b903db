import Primitives

/// The outcome of a request that the store could not keep, without the bodies of the change.
struct UnkeptOutcome: Sendable {
    private var state: ChangeState
    private let attempts: Int
    private let problem: ChangeProblem?
    private var nextAttempt: Timestamp?
    private let mayBeApplied: Bool
    private let skipsLook: Bool
    private let isUnguarded: Bool
    /// The pause before the store is asked again.
    var wait: Wait

    /// - Parameter change: the row that the store could not keep.
    init(of change: Change, wait: Wait) {
        state = change.state
        attempts = change.attempts
        problem = change.problem
        nextAttempt = change.nextAttempt
        mayBeApplied = change.mayBeApplied
        skipsLook = change.skipsLook
        isUnguarded = change.isUnguarded
        self.wait = wait
    }

    /// Lets a blocked change try again with a new credential.
    mutating func unblock() {
        guard state == .blocked else { return }
        state = .pending
        nextAttempt = nil
    }

    /// Puts the outcome into the row that the store has.
    func complete(_ row: Change) -> Change {
        var change = row
        change.state = state
        change.attempts = attempts
        change.problem = problem
        change.nextAttempt = nextAttempt
        change.mayBeApplied = mayBeApplied
        change.skipsLook = skipsLook
        change.isUnguarded = isUnguarded
        return change
    }
}
