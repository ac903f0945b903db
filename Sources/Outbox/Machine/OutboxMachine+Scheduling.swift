import Primitives

/// The order of changes: when a head waits and leaves.
extension OutboxMachine {
    mutating func add(_ summary: ChangeSummary, _ turn: inout Turn) {
        guard laneOf[summary.id] == nil, !summary.state.isEnded else { return }
        let key = LaneKey(namespace: summary.namespace, name: summary.lane)
        laneOf[summary.id] = key
        // A row does not tell when its date was set.
        let longest = summary.problem?.kind == .throttled ? Backoff.longestPause : Backoff.longest
        let due = min(summary.nextAttempt ?? turn.now, turn.now + longest)
        let slot = Lane.Slot(id: summary.id, summary: summary, due: due, pause: longest)
        let queue = lanes[key]?.queue ?? []
        // Two changes may be reported in another order than the store committed them. A head that has been sent stays
        // the head.
        let busy = lanes[key].map { lane in if case .idle = lane.phase, !lane.isSent { 0 } else { 1 } } ?? 0
        let place = max(queue.lastIndex { $0.id < slot.id }.map { $0 + 1 } ?? 0, busy)
        lanes[key, default: Lane()].queue.insert(slot, at: place)
        enter(summary)
        if let date = summary.expires { noteExpiry(summary.id, date) }
        if place == 0 {
            lanes[key]!.forget()
            arm(key)
        }
    }

    /// Takes a change that an earlier process has left.
    mutating func restore(_ summary: ChangeSummary, _ turn: inout Turn) {
        var summary = summary
        // The last process may have ended between a new credential and the state that follows from it, so one request
        // finds out whether the credential is good by now.
        if summary.state == .blocked, summary.credential != nil { summary.state = .pending }
        add(summary, &turn)
        guard let key = laneOf[summary.id] else { return }
        if summary.state == .confirmed { confirmed.insert(key) }
        // The outcome is unknown from now on, also while the origin wants no requests, so that callers can decide. The
        // change had a place at the host in the last process.
        let origin = summary.target.origin
        if summary.state == .sending, lanes[key]!.head?.id == summary.id, hosts[origin]!.hasPlace,
            flightCount < flightLimit
        {
            start(key, origin, &turn)
        }
    }

    /// Takes a pause that an earlier process has noted.
    mutating func restore(_ pause: HostPause, _ now: Timestamp) {
        // After a clock that has gone back, the pause begins again.
        let longest = min(pause.end - pause.start, Backoff.longestPause)
        guard pause.end > now, longest > .zero else { return }
        _ = hosts[pause.origin, default: HostState()]
            .pause(pause.namespace, until: min(pause.end, now + longest), longest: longest, now)
    }

    /// Forgets the origins without changes, so that the table does not grow for ever.
    mutating func forgetHosts(_ now: Timestamp) {
        guard hosts.values.contains(where: { $0.isSpent(now) }) else { return }
        hosts = hosts.filter { !$0.value.isSpent(now) }
    }

    /// Makes the heads due that would wait longer than their pauses, because the clock has gone back.
    mutating func hurry(_ now: Timestamp) {
        for (key, lane) in lanes {
            guard case .idle = lane.phase, let head = lane.head, head.due - now > head.pause else { continue }
            lanes[key]!.queue[0].due = now
            arm(key)
        }
    }

    // MARK: - Waiting and leaving

    /// Ends the flight of a head, which waits until `due`. The row in the store stays as it is.
    mutating func idle(_ key: LaneKey, until due: Timestamp, _ now: Timestamp) {
        guard let head = lanes[key]?.head else { return }
        hosts[head.summary.target.origin]?.ended(key.namespace)
        lanes[key]!.queue[0].due = due
        lanes[key]!.queue[0].pause = max(due - now, .zero)
        lanes[key]!.phase = .idle
        lanes[key]!.change = nil
        // The date of expiry may have passed during the flight, or passes before the next one.
        if let date = head.summary.expires, date <= due, !lanes[key]!.queue[0].looksBeforeExpiry {
            noteExpiry(head.id, date)
        }
        arm(key)
    }

    /// Ends the flight of a head with a durable row.
    mutating func rest(_ key: LaneKey, _ change: Change, _ turn: inout Turn) {
        idle(key, until: change.nextAttempt ?? turn.now, turn.now)
        if change.state.isEnded {
            leave(change.id, change.summary, &turn)
        } else if change.state == .confirmed, let shown = lanes[key]!.shown {
            decide(.finish(shown), [change.id], &turn)
        }
    }

    /// Removes an ended change from its lane.
    mutating func leave(_ id: Change.ID, _ summary: ChangeSummary, _ turn: inout Turn) {
        turn.actions.append(.dropFromView(summary))
        remove(id)
    }

    mutating func remove(_ id: Change.ID) {
        guard let key = laneOf.removeValue(forKey: id), let place = lanes[key]?.queue.firstIndex(where: { $0.id == id })
        else { return }
        unkept[id] = nil
        let slot = lanes[key]!.queue.remove(at: place)
        exit(slot.summary)
        guard place == 0 else { return }
        confirmed.remove(key)
        lanes[key]!.forget()
        if lanes[key]!.queue.isEmpty { lanes[key] = nil } else { arm(key) }
    }

    /// Forgets all changes of a namespace. The answers to their flights have no effect.
    mutating func discard(_ namespace: String, _ turn: inout Turn) {
        for (key, lane) in lanes where key.namespace == namespace {
            if let head = lane.head {
                if case .idle = lane.phase {} else { hosts[head.summary.target.origin]?.ended(namespace) }
            }
            for slot in lane.queue {
                laneOf[slot.id] = nil
                unkept[slot.id] = nil
                exit(slot.summary)
                if let leader = deciding[slot.id] { refuse(leader, .ended, &turn) }
            }
            confirmed.remove(key)
            lanes[key] = nil
        }
        missing[namespace] = nil
        for origin in hosts.keys { hosts[origin]!.forgetPause(of: namespace) }
    }

    // MARK: - Rows

    /// Writes the head's row. `then` follows when the row is durable.
    mutating func commit(_ key: LaneKey, _ change: Change, then: Lane.Then, _ turn: inout Turn) {
        lanes[key]!.change = change
        lanes[key]!.phase = .committing(then)
        turn.actions.append(.commit([change]))
    }

    mutating func committed(_ ids: [Change.ID], _ turn: inout Turn) {
        guard let id = ids.first else { return }
        if let leader = deciding[id] { return decided(leader, &turn) }
        guard let key = laneOf[id], let change = lanes[key]?.change, change.id == id,
            case .committing(let then)? = lanes[key]?.phase
        else { return }
        lanes[key]!.queue[0].summary = change.summary
        turn.actions.append(.publish(change.summary))
        if change.state == .confirmed { confirmed.insert(key) }
        switch then {
        case .send(let order):
            lanes[key]!.phase = .sending(order)
            turn.actions.append(.send(order))
        case .goOn: goOn(key, &turn)
        case .look: look(key, &turn)
        case .confirm: confirm(key, &turn)
        case .finish: finish(key, change, isShown: false, &turn)
        case .rest:
            // The new credential has come too late for ``block(_:_:_:_:)``, and the store may have set the row to
            // `pending` before this commit replaced it.
            if change.state == .blocked, lanes[key]!.hasNewCredential {
                // If this commit fails, the head must be able to start nevertheless.
                lanes[key]!.queue[0].summary.state = .pending
                return unblock(key, change, &turn)
            }
            rest(key, change, &turn)
        }
    }

    mutating func commitFailed(_ ids: [Change.ID], _ turn: inout Turn) {
        guard let id = ids.first else { return }
        if let leader = deciding[id] { return refuse(leader, .notKept, &turn) }
        guard let key = laneOf[id], lanes[key]?.head?.id == id, case .committing(let then)? = lanes[key]?.phase else {
            return
        }
        notKept(key, then: then, &turn)
    }

    /// The store, or the cache, has failed. The head begins again with the row that the store has, as after a restart.
    mutating func storageFailed(_ key: LaneKey, _ turn: inout Turn) {
        lanes[key]!.failures += 1
        let pause = Backoff.delay(failures: lanes[key]!.failures, jitter: turn.jitter)
        idle(key, until: turn.now + pause, turn.now)
    }
}
