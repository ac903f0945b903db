import Primitives

/// Decisions about changes. A decision holds its changes, reads their rows, and writes them in one transaction.
extension OutboxMachine {
    mutating func decide(_ kind: Decision.Kind, _ ids: [Change.ID], _ turn: inout Turn) {
        guard let leader = ids.first else { return }
        for id in ids {
            if let refusal = obstacle(kind, id) {
                if kind.isOfCaller { turn.actions.append(.refuse(leader, refusal)) }
                return
            }
        }
        if ids.count > 1, !areNeighbours(ids) {
            let reason = "expected neighbours in one lane"
            turn.actions.append(.refuse(leader, .invalid(.squash(reason))))
            return
        }
        if ids.count > 1, let other = changeBetween(ids) {
            let reason = "change \(other) of another lane edits the resource between the changes"
            turn.actions.append(.refuse(leader, .invalid(.squash(reason))))
            return
        }
        for id in ids { giveUpFlight(of: id, turn.now) }
        decisions[leader] = Decision(kind: kind, ids: ids)
        for id in ids {
            deciding[id] = leader
            turn.actions.append(.load(id))
        }
    }

    /// Changes between others would be overtaken when the others become one.
    private func areNeighbours(_ ids: [Change.ID]) -> Bool {
        guard let key = laneOf[ids[0]], let queue = lanes[key]?.queue,
            let start = queue.firstIndex(where: { $0.id == ids[0] })
        else { return false }
        return queue[start...].prefix(ids.count).map(\.id) == ids
    }

    /// A change of another lane that readers see between the changes. A squash would reverse their order.
    private func changeBetween(_ ids: [Change.ID]) -> Change.ID? {
        guard let key = laneOf[ids[0]], let last = ids.last,
            let target = lanes[key]?.queue.first(where: { $0.id == ids[0] })?.summary.target
        else { return nil }
        for (other, lane) in lanes where other != key && other.namespace == key.namespace {
            let slot = lane.queue.first { slot in
                slot.id > ids[0] && slot.id < last && slot.summary.target.key == target.key
                    && slot.summary.method != "POST"
            }
            if let slot { return slot.id }
        }
        return nil
    }

    private func obstacle(_ kind: Decision.Kind, _ id: Change.ID) -> Refusal? {
        guard let key = laneOf[id], let lane = lanes[key] else { return .ended }
        if deciding[id] != nil { return .busy }
        if unkept[id] != nil { if case .keep = kind { return nil } else { return .busy } }
        guard lane.head?.id == id else { return nil }
        switch lane.phase {
        case .sending, .committing, .removing: return lane.head?.summary.state == .confirmed ? .confirmed : .busy
        // The row that is being read would be older than the decision.
        case .loading: return .busy
        case .confirming: return .confirmed
        case .idle: return lane.head?.summary.state == .sending ? .busy : nil
        case .looking, .merging: return nil
        }
    }

    /// Frees the place at the host of a head that has not sent its request.
    private mutating func giveUpFlight(of id: Change.ID, _ now: Timestamp) {
        guard let key = laneOf[id], let lane = lanes[key], lane.head?.id == id else { return }
        if case .idle = lane.phase { return }
        lastFlight += 1
        lanes[key]!.flight = lastFlight
        idle(key, until: now, now)
    }

    mutating func decisionLoaded(_ id: Change.ID, _ change: Change?, _ turn: inout Turn) {
        guard let leader = deciding[id], decisions[leader]?.isCommitting == false else { return }
        guard let change else {
            if decisions[leader]!.kind.isOfCaller { turn.actions.append(.refuse(leader, .ended)) }
            let ids = decisions[leader]!.ids
            drop(decision: leader)
            remove(id)
            for id in ids { rearm(id) }
            return
        }
        if decisions[leader]!.rows.contains(where: { $0.id == id }) { return }
        decisions[leader]!.rows.append(change)
        let decision = decisions[leader]!
        guard decision.rows.count == decision.ids.count else { return }
        let rows = decision.ids.compactMap { id in decision.rows.first { $0.id == id } }
        switch decision.kind {
        case .squash: squash(leader, rows, &turn)
        case .resolve(.ours): if !mergeForOurs(leader, rows[0], &turn) { conclude(leader, rows, &turn) }
        case .cancel, .retry, .expire, .resolve, .finish, .keep: conclude(leader, rows, &turn)
        }
    }

    /// Writes the rows that the decision leads to.
    mutating func conclude(_ leader: Change.ID, _ rows: [Change], _ turn: inout Turn) {
        let decision = decisions[leader]!
        switch apply(decision.kind, rows) {
        case .success(let changed):
            if case .finish(let shown) = decision.kind, let key = laneOf[leader] {
                noteRewrite(key, rows[0], shown, &turn)
            }
            decisions[leader]!.rows = changed
            decisions[leader]!.isCommitting = true
            turn.actions.append(.commit(changed))
        case .failure(let refusal): refuse(leader, refusal.reason, &turn)
        }
    }

    /// A wrapper, because ``Refusal`` is no error: a caller's decision may come too late in good order.
    private struct Refused: Error {
        let reason: Refusal
    }

    private func apply(_ kind: Decision.Kind, _ rows: [Change]) -> Result<[Change], Refused> {
        var change = rows[0]
        let state = change.state
        switch kind {
        case .cancel, .expire:
            if state == .confirmed { return .failure(Refused(reason: .confirmed)) }
            if state == .sending { return .failure(Refused(reason: .busy)) }
            if state.isEnded { return .failure(Refused(reason: .ended)) }
            if case .expire = kind { change.state = .expired } else { change.state = .cancelled }
        case .retry:
            guard state == .pending || state.stopsLane else { return .failure(Refused(reason: .notHeld(state))) }
            // For a POST, the decision accepts a second effect. Any other change that may have been applied is looked
            // at before it is sent.
            change.state = .pending
            // The next attempt finds the origin's version by itself.
            change.theirs = nil
        case .finish:
            guard state == .confirmed else { return .failure(Refused(reason: .notHeld(state))) }
            change.state = .done
            change.problem = nil
        case .resolve(let resolution):
            guard state.stopsLane, state != .blocked else { return .failure(Refused(reason: .notHeld(state))) }
            if let reason = Self.resolve(&change, resolution, limits) { return .failure(Refused(reason: reason)) }
        case .keep(let outcome): return .success([outcome.complete(change)])
        // The rows are the result of the squash.
        case .squash: return .success(rows)
        }
        change.nextAttempt = nil
        return .success([change])
    }

    /// Applies a caller's choice. The base becomes the version that the caller has seen, so a still newer version is
    /// merged or held again.
    private static func resolve(_ change: inout Change, _ resolution: Resolution, _ limits: OutboxLimits) -> Refusal? {
        switch resolution {
        case .theirs:
            change.state = .cancelled
            change.problem = ChangeProblem(.theirsTaken)
            return nil
        case .ours: break
        case .body(let body):
            guard change.draft.edit != .delete, change.draft.edit != .post else { return .notHeld(change.state) }
            guard body.count <= limits.changeBytes else { return .bodyTooLarge }
            change.draft.ours = body
        }
        var unreadTheirs: BodyDigest?
        switch change.problem?.kind {
        // The origin gives no version that a precondition could name, so the decision is to send without one.
        case .validatorRefused, .unreadable: change.draft.base = .blind
        // The GET that would tell the outcome leads to another origin. A rejected change may instead have a request
        // with a redirect, which may have an end, so its precondition stays.
        case .redirected where change.state == .uncertain: change.draft.base = .blind
        case .clash:
            guard let theirs = change.theirs else { break }
            if case .ours = resolution, theirs.body == nil, change.draft.base.version?.body != nil,
                change.draft.onConflict != .hold
            {
                // The next look reads the version again, and merges it as a rewritten base, so that ours wins.
                unreadTheirs = theirs.digest
            } else {
                change.draft.base = .version(theirs)
            }
        // A blind change. The origin may want a precondition (428).
        case .stateRefused where change.draft.edit != .post:
            if let theirs = change.theirs {
                change.draft.base = .version(theirs)
            } else if change.draft.edit != .delete {
                change.draft.base = .absent
            }
        case .deleted:
            switch change.draft.edit {
            case .replace, .mergePatch, .jsonPatch: change.draft.base = .absent
            // A POST never has a precondition: its Idempotency-Key keeps the effect from happening twice.
            case .delete, .post: break
            }
        default: break
        }
        // A patch gives ours only on the earlier base.
        if change.draft.edit.patch != nil { change.draft.becomeWhole() }
        change.rewrittenBase = unreadTheirs
        // A decision accepts a second effect. No GET can tell whether a change without a precondition had a first one.
        change.skipsLook = change.draft.base == .blind
        change.theirs = nil
        change.problem = nil
        change.state = .pending
        return nil
    }

    // MARK: - The end of a decision

    mutating func decided(_ leader: Change.ID, _ turn: inout Turn) {
        guard let decision = decisions[leader], decision.isCommitting else { return }
        drop(decision: leader)
        for change in decision.rows {
            turn.actions.append(.publish(change.summary))
            guard let key = laneOf[change.id] else { continue }
            guard !change.state.isEnded else {
                leave(change.id, change.summary, &turn)
                continue
            }
            guard let place = lanes[key]!.queue.firstIndex(where: { $0.id == change.id }) else { continue }
            lanes[key]!.queue[place].summary = change.summary
            if case .keep = decision.kind {
                kept(key, change, turn)
                continue
            }
            lanes[key]!.queue[place].due = turn.now
            if let date = change.draft.expires { noteExpiry(change.id, date) }
            if place == 0 { lanes[key]!.forget() }
            rearm(change.id)
        }
    }

    mutating func refuse(_ id: Change.ID, _ refusal: Refusal, _ turn: inout Turn) {
        guard let leader = deciding[id], let decision = decisions[leader] else { return }
        drop(decision: leader)
        for id in decision.ids {
            rearm(id)
            if case .keep = decision.kind { keepLater(id, turn) }
            if case .expire = decision.kind, laneOf[id] != nil {
                // The store failed. The next attempt comes with the pace of the longest pause's jitter.
                let due = turn.now + Backoff.delay(failures: 6, jitter: turn.jitter) + Backoff.shortest
                noteExpiry(id, due)
            }
        }
        guard decision.kind.isOfCaller else { return }
        turn.actions.append(.refuse(leader, refusal))
    }

    mutating func drop(decision leader: Change.ID) {
        for id in decisions.removeValue(forKey: leader)?.ids ?? [] { deciding[id] = nil }
    }

    private mutating func rearm(_ id: Change.ID) {
        guard let key = laneOf[id], let lane = lanes[key], lane.head?.id == id, case .idle = lane.phase else { return }
        arm(key)
    }
}
