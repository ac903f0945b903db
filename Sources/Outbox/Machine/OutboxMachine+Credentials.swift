import Primitives

/// Credentials that are missing, refused, unreadable or new.
extension OutboxMachine {
    /// - Parameter status: of the answer of the origin; `nil`: the origin was not asked.
    mutating func block(_ key: LaneKey, _ change: Change, _ status: Int?, _ turn: inout Turn) {
        let problem = ChangeProblem(.credential, status: status)
        guard lanes[key]!.hasNewCredential else { return hold(key, change, .blocked, problem, &turn) }
        var change = change
        change.problem = problem
        unblock(key, change, &turn)
    }

    /// Lets a head try again with a credential that is newer than its request.
    mutating func unblock(_ key: LaneKey, _ change: Change, _ turn: inout Turn) {
        var change = change
        change.state = .pending
        change.nextAttempt = nil
        commit(key, change, then: .rest, &turn)
    }

    /// The store has set the blocked changes of the credential to `pending` in the transaction that stored it.
    mutating func credentialChanged(_ namespace: String, _ name: String, _ turn: inout Turn) {
        for (key, lane) in lanes where key.namespace == namespace {
            for (place, slot) in lane.queue.enumerated() where slot.summary.credential == name {
                if slot.summary.state == .blocked {
                    lanes[key]!.queue[place].summary.state = .pending
                    lanes[key]!.queue[place].due = turn.now
                }
            }
            guard let head = lane.head, head.summary.credential == name else { continue }
            guard case .idle = lane.phase, unkept[head.id] == nil else {
                lanes[key]!.hasNewCredential = true
                continue
            }
            if head.summary.state == .blocked { arm(key) }
        }
    }

    /// The same as a refusal by the origin, but the origin has not answered.
    mutating func credentialMissing(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), var change = lanes[key]!.change else { return }
        missing[key.namespace] = nil
        switch lanes[key]!.phase {
        case .sending:
            change.attempts -= 1
            block(key, change, nil, &turn)
        case .looking: block(key, change, nil, &turn)
        case .confirming: finish(key, change, isShown: false, &turn)
        case .idle, .loading, .merging, .committing, .removing: break
        }
    }

    /// A failure of the store tells neither of the credential nor of the origin, so the head tries again later.
    mutating func credentialUnreadable(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), var change = lanes[key]!.change else { return }
        missing[key.namespace] = nil
        switch lanes[key]!.phase {
        case .sending:
            // The row has the state `sending`, although no request went out.
            change.attempts -= 1
            retryLater(key, change, change.problem, nil, &turn)
        case .looking, .confirming: storageFailed(key, &turn)
        case .idle, .loading, .merging, .committing, .removing: break
        }
    }
}
