import Primitives

/// Namespaces that do not exist now, because the cache was lost, and the heads of their lanes.
///
/// A missing namespace has no policy of origins, so no request can be made, and each change keeps its state. The heads
/// wait; one of them is tried now and then, and all of them start when the namespace is there.
extension OutboxMachine {
    struct MissingNamespace: Sendable {
        /// The attempts in a row that have not found the namespace.
        var failures = 0
        /// The pause before the next attempt.
        var wait: Wait
        /// The change that is being tried; `nil`: none is.
        var probe: Change.ID?
    }

    mutating func namespaceMissing(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), var change = lanes[key]!.change else { return }
        switch lanes[key]!.phase {
        case .sending:
            noteMissing(key.namespace, change.id, turn)
            // The row has the state `sending`, although no request went out.
            change.attempts -= 1
            change.state = .pending
            commit(key, change, then: .rest, &turn)
        case .looking, .confirming:
            noteMissing(key.namespace, change.id, turn)
            idle(key, until: turn.now, turn.now)
        case .idle, .loading, .merging, .committing, .removing: break
        }
    }

    private mutating func noteMissing(_ namespace: String, _ id: Change.ID, _ turn: Turn) {
        let known = missing[namespace]
        // Heads that were under way with the first one tell no more than that one.
        if let known, known.probe != id { return }
        let failures = (known?.failures ?? 0) + 1
        let delay = max(Backoff.delay(failures: failures, jitter: turn.jitter), Backoff.shortest)
        missing[namespace] = MissingNamespace(failures: failures, wait: Wait(delay, from: turn.now), probe: nil)
    }

    /// Whether the heads of a namespace wait because it is missing.
    func isMissing(_ namespace: String, _ now: Timestamp) -> Bool {
        missing[namespace].map { !$0.wait.isOver(now) } ?? false
    }

    /// Lets the heads of a missing namespace wait for the answer to this one. An end without an answer delays the
    /// next one.
    mutating func noteProbe(_ namespace: String, _ id: Change.ID, _ now: Timestamp) {
        missing[namespace]?.probe = id
        missing[namespace]?.wait = Wait(Backoff.longest, from: now)
    }
}
