import Outbox
import Primitives

/// The waits of origins in the changes that calls return. Another change may have caused the wait, so the row of the
/// returned change does not have it. All on `queue`.
extension OutboxService {
    /// Adds the end and the cause of the wait for its origin to a pending change. Other changes stay as they are.
    func withWait(_ change: Change) -> Change {
        var change = change
        let (namespace, origin) = (change.draft.namespace, change.draft.target.origin)
        addWait(change.state, namespace, origin, &change.nextAttempt, &change.problem)
        return change
    }

    /// A list has the waits of its changes, too.
    func withWait(_ change: ChangeSummary) -> ChangeSummary {
        var change = change
        addWait(change.state, change.namespace, change.target.origin, &change.nextAttempt, &change.problem)
        return change
    }

    private func addWait(
        _ state: ChangeState, _ namespace: String, _ origin: String, _ nextAttempt: inout Timestamp?,
        _ problem: inout ChangeProblem?
    ) {
        guard state == .pending, let wait = wait(for: origin, in: namespace) else { return }
        if let nextAttempt, nextAttempt >= wait.end { return }
        nextAttempt = wait.end
        if problem == nil { problem = ChangeProblem(wait.cause) }
    }
}
