import Primitives

/// The merges that decisions wait for.
extension OutboxMachine {
    /// Begins the merge that makes ours of a decision for ours, so that the change takes back none of the rival's edits
    /// that do not clash. Returns `false` for a change that replaces or deletes the version whole.
    mutating func mergeForOurs(_ leader: Change.ID, _ change: Change, _ turn: inout Turn) -> Bool {
        guard change.state == .conflict, change.draft.edit != .post, let ours = change.draft.ours,
            let theirs = change.theirs?.body
        else { return false }
        let base = change.draft.base.version
        guard change.draft.base != .blind, base == nil || base?.body != nil else { return false }
        lastFlight += 1
        let order = MergeOrder(
            flight: Flight(change: change.id, number: lastFlight), base: base?.body, ours: ours, theirs: theirs,
            prefersOurs: true, patch: nil)
        begin(order, leader, &turn)
        return true
    }

    private mutating func begin(_ order: MergeOrder, _ leader: Change.ID, _ turn: inout Turn) {
        decisions[leader]!.merge = order.flight.number
        turn.actions.append(.merge(order))
    }

    mutating func decisionMerged(_ flight: Flight, _ result: MergeResult, _ turn: inout Turn) {
        guard let leader = deciding[flight.change], let decision = decisions[leader],
            decision.merge == flight.number, !decision.isCommitting
        else { return }
        if decision.squash != nil { return takeMerge(leader, result, &turn) }
        var change = decision.rows[0]
        switch result {
        case .clean(let body, _): change.draft.ours = body
        case .equalsTheirs: change.draft.ours = change.theirs?.body
        case .clash, .takenBack, .theirsIsBase: break
        }
        guard change.draft.ours?.count ?? 0 <= limits.changeBytes else { return refuse(leader, .bodyTooLarge, &turn) }
        conclude(leader, [change], &turn)
    }

    // MARK: - Squashes

    mutating func squash(_ leader: Change.ID, _ rows: [Change], _ turn: inout Turn) {
        do throws(OutboxError) {
            decisions[leader]!.squash = try Squash(rows)
            try goOnSquashing(leader, &turn)
        } catch {
            refuseSquash(leader, error, &turn)
        }
    }

    private mutating func takeMerge(_ leader: Change.ID, _ result: MergeResult, _ turn: inout Turn) {
        do throws(OutboxError) {
            try decisions[leader]!.squash!.take(result, limits)
            try goOnSquashing(leader, &turn)
        } catch {
            refuseSquash(leader, error, &turn)
        }
    }

    /// Begins the next merge of a squash, or ends it.
    private mutating func goOnSquashing(_ leader: Change.ID, _ turn: inout Turn) throws(OutboxError) {
        lastFlight += 1
        if let order = try decisions[leader]!.squash!.nextMerge(lastFlight) { return begin(order, leader, &turn) }
        let (survivor, cancelled) = decisions[leader]!.squash!.result
        conclude(leader, cancelled + [survivor], &turn)
    }

    private mutating func refuseSquash(_ leader: Change.ID, _ error: OutboxError, _ turn: inout Turn) {
        guard case .invalid(let fault) = error else { return refuse(leader, .notKept, &turn) }
        refuse(leader, .invalid(fault), &turn)
    }
}
