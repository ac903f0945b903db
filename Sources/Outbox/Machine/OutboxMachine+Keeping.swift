import Primitives

/// Outcomes of requests that the store could not keep.
///
/// The row of such a change has the state `sending`, which tells the next process only that a request was made. This
/// process knows the outcome, and must neither send the request again nor ask a person about it. So it stores the
/// outcome as soon as the store works again, also while the origin wants no requests. Until then the change does not
/// start, and takes no decisions.
extension OutboxMachine {
    /// Ends the flight of a head with a row that the store could not keep.
    mutating func notKept(_ key: LaneKey, then: Lane.Then, _ turn: inout Turn) {
        let isKnown =
            switch then {
            // The row is that from before the request, or tells no more than a restart does.
            case .send, .goOn: false
            case .look, .confirm, .finish, .rest: lanes[key]!.head?.summary.state == .sending
            }
        guard isKnown, let change = lanes[key]!.change else { return storageFailed(key, &turn) }
        unkept[change.id] = UnkeptOutcome(of: change, wait: storagePause(key, turn))
        idle(key, until: turn.now, turn.now)
    }

    /// The pause after one more failure of the store.
    private mutating func storagePause(_ key: LaneKey, _ turn: Turn) -> Wait {
        lanes[key]!.failures += 1
        let delay = Backoff.delay(failures: lanes[key]!.failures, jitter: turn.jitter)
        return Wait(max(delay, Backoff.shortest), from: turn.now)
    }

    /// Begins to store the outcomes that are due.
    mutating func keepDue(_ turn: inout Turn) {
        for id in unkept.keys.sorted() {
            guard canDecide else { return }
            guard deciding[id] == nil, unkept[id]!.wait.isOver(turn.now), let key = laneOf[id] else { continue }
            if lanes[key]!.hasNewCredential { unkept[id]!.unblock() }
            decide(.keep(unkept[id]!), [id], &turn)
        }
    }

    /// The date of the next attempt to store an outcome.
    var nextKeeping: Timestamp? {
        canDecide ? unkept.filter { deciding[$0.key] == nil }.values.map(\.wait.end).min() : nil
    }

    /// The store has failed once more.
    mutating func keepLater(_ id: Change.ID, _ turn: Turn) {
        guard let key = laneOf[id], unkept[id] != nil else { return }
        unkept[id]!.wait = storagePause(key, turn)
    }

    /// The outcome of the head's request is durable by now.
    mutating func kept(_ key: LaneKey, _ change: Change, _ turn: Turn) {
        // The store may have set the row to `pending` for a new credential before this row replaced it.
        if change.state == .blocked, lanes[key]!.hasNewCredential {
            unkept[change.id]?.wait = Wait(.zero, from: turn.now)
            return
        }
        unkept[change.id] = nil
        if change.state == .confirmed { confirmed.insert(key) }
        let due = change.nextAttempt ?? turn.now
        lanes[key]!.queue[0].due = due
        lanes[key]!.queue[0].pause = max(due - turn.now, .zero)
        if let date = change.draft.expires { noteExpiry(change.id, date) }
        arm(key)
    }
}
