import Primitives

/// The request of a head, and the answers to it.
extension OutboxMachine {
    mutating func send(_ key: LaneKey, _ content: SendContent, _ guarding: WriteGuard, _ turn: inout Turn) {
        var change = lanes[key]!.change!
        if change.isExpired(turn.now) { return hold(key, change, .expired, nil, &turn) }
        if waitsForPause(key, turn.now) { return }
        lanes[key]!.hops = 0
        let isPost = change.draft.edit == .post
        change.state = .sending
        change.attempts += 1
        change.nextAttempt = nil
        change.isUnguarded = guarding == .unguarded && !isPost
        if case .body(let body) = content { lanes[key]!.sentDigest = BodyDigest(of: body) }
        let order = SendOrder(
            flight: Flight(change: change.id, number: lanes[key]!.flight), namespace: change.draft.namespace,
            method: change.draft.method, url: change.draft.target.url, target: change.draft.target,
            fields: change.draft.fields, credential: change.draft.credential, content: content, guarding: guarding,
            // A precondition already keeps the effect from happening twice.
            idempotencyKey: guarding == .unguarded ? change.originKey(for: content.bytes) : nil)
        commit(key, change, then: .send(order), &turn)
    }

    mutating func sendFailed(_ flight: Flight, _ failure: SendFailure, _ turn: inout Turn) {
        guard let key = lane(of: flight), case .sending = lanes[key]!.phase else { return }
        noteFailure(key, &turn)
        let change = lanes[key]!.change!
        switch failure {
        case .notSent: retryLater(key, change, ChangeProblem(.unreachable), nil, &turn)
        case .unknown: outcomeUnknown(key, change, status: nil, retryAfter: nil, &turn)
        }
    }

    mutating func originRefused(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), var change = lanes[key]!.change else { return }
        missing[key.namespace] = nil
        switch lanes[key]!.phase {
        case .sending:
            change.attempts -= 1
            hold(key, change, .rejected, ChangeProblem(.originPolicy), &turn)
        // The policy refuses the GET, which alone tells whether an earlier request had its effect.
        case .looking: hold(key, change, unreadableState(change), ChangeProblem(.originPolicy), &turn)
        case .confirming: finish(key, change, isShown: false, &turn)
        case .idle, .loading, .merging, .committing, .removing: break
        }
    }

    mutating func sendAnswered(_ flight: Flight, _ answer: SendAnswer, _ turn: inout Turn) {
        guard let key = lane(of: flight), case .sending(let order) = lanes[key]!.phase else { return }
        noteAnswer(key, answer.status, answer.retryAfter, &turn)
        var change = lanes[key]!.change!
        if answer.status != 429 { hosts[change.draft.target.origin]?.endThrottle(of: key.namespace) }
        let meaning = SendMeaning(status: answer.status)
        if meaning != .stateConflict { (lanes[key]!.refusals, lanes[key]!.keyedRefusals) = (0, 0) }
        switch meaning {
        case .applied: applied(key, change, answer, &turn)
        case .notApplied:
            retryLater(key, change, ChangeProblem(.throttled, status: answer.status), answer.retryAfter, &turn)
        case .unknown:
            outcomeUnknown(key, change, status: answer.status, retryAfter: answer.retryAfter, &turn)
        case .stateConflict: stateRefused(key, change, order, answer, &turn)
        case .credential:
            change.attempts -= 1
            block(key, change, answer.status, &turn)
        case .gone:
            // The cache may have failed to remove the version when the shell got the answer.
            if change.draft.edit == .delete { return applied(key, change, answer, then: .finish, &turn) }
            clash(key, change, nil, .deleted, &turn)
        case .redirect:
            guard let url = nextHop(key, answer.location) else {
                return hold(key, change, .rejected, ChangeProblem(.redirected, status: answer.status), &turn)
            }
            var order = order
            order.url = url
            lanes[key]!.phase = .sending(order)
            turn.actions.append(.send(order))
        case .rejected:
            let kind: ChangeProblem.Kind = answer.status < 400 ? .redirected : .rejected
            hold(key, change, .rejected, ChangeProblem(kind, status: answer.status), &turn)
        }
    }

    /// The origin has the effect of the change. This is durable before readers are shown the effect, so a cache that
    /// fails lets no later start send the change again.
    private mutating func applied(
        _ key: LaneKey, _ change: Change, _ answer: SendAnswer, then: Lane.Then = .confirm, _ turn: inout Turn
    ) {
        var change = change
        change.problem = nil
        change.mayBeApplied = false
        // No GET shows the effect of a POST.
        if change.draft.edit == .post { return finish(key, change, isShown: true, &turn) }
        confirmed(key, change, answer.etag.flatMap(Validator.init(strong:)), then: then, &turn)
    }

    /// - Parameter tag: the tag of the version that the request has made; `nil`: unknown.
    mutating func confirmed(
        _ key: LaneKey, _ change: Change, _ tag: Validator?, then: Lane.Then = .confirm, _ turn: inout Turn
    ) {
        var change = change
        change.state = .confirmed
        ticket += 1
        lanes[key]!.failures = 0
        lanes[key]!.confirmedTicket = ticket
        lanes[key]!.confirmedTag = tag
        commit(key, change, then: then, &turn)
    }

    /// 409, 412 and 428 have no effect. The version that the request was made for is not the present one.
    private mutating func stateRefused(
        _ key: LaneKey, _ change: Change, _ order: SendOrder, _ answer: SendAnswer, _ turn: inout Turn
    ) {
        var change = change
        if answer.status == 409, order.idempotencyKey != nil {
            // The origin still works on the first request with this key, or remembers it.
            change.mayBeApplied = true
            lanes[key]!.keyedRefusals += 1
            if lanes[key]!.isKeyRefused {
                // No look tells whether a POST has been applied.
                if change.draft.edit == .post {
                    return hold(key, change, .conflict, ChangeProblem(.stateRefused, status: 409), &turn)
                }
                change.skipsLook = false
            }
            let problem = ChangeProblem(.unknownOutcome, status: 409)
            return retryLater(key, change, problem, answer.retryAfter, &turn)
        }
        if change.draft.edit == .post {
            return hold(key, change, .conflict, ChangeProblem(.stateRefused, status: answer.status), &turn)
        }
        change.state = .pending
        change.problem = ChangeProblem(.clash, status: answer.status)
        lanes[key]!.refusals += 1
        lanes[key]!.refusedSight = lanes[key]!.sight
        lanes[key]!.refusedStatus = answer.status
        let isPrompt = lanes[key]!.refusals <= Self.promptRefusals || change.draft.base == .blind
        if isPrompt { return commit(key, change, then: .look, &turn) }
        retryLater(key, change, change.problem, answer.retryAfter, &turn)
    }

    /// - Parameter isRestart: whether an earlier process has sent the request; then no pause is necessary.
    mutating func outcomeUnknown(
        _ key: LaneKey, _ change: Change, status: Int?, retryAfter: Duration?, isRestart: Bool = false,
        _ turn: inout Turn
    ) {
        var change = change
        change.mayBeApplied = true
        change.skipsLook = false
        change.problem = ChangeProblem(.unknownOutcome, status: status)
        if change.draft.edit == .post, change.draft.callerKey == nil, change.draft.onUncertain == .hold {
            return hold(key, change, .uncertain, change.problem, &turn)
        }
        if isRestart {
            change.state = .pending
            change.nextAttempt = nil
            return commit(key, change, then: .goOn, &turn)
        }
        retryLater(key, change, change.problem, retryAfter, &turn)
    }

    // MARK: - Redirects

    /// The URL to which a 307 or 308 leads; `nil` for another origin, a missing address, and too many hops. A 307 or
    /// 308 keeps method and content (RFC 9110 §15.4.8).
    mutating func nextHop(_ key: LaneKey, _ location: CanonicalURL?) -> String? {
        guard let location, let change = lanes[key]!.change, lanes[key]!.hops < Self.hopLimit,
            ChangeTarget(location, key: "").origin == change.draft.target.origin
        else { return nil }
        lanes[key]!.hops += 1
        return location.requestURL
    }

    // MARK: - Pauses

    /// - Parameter least: the shortest pause without a wish of the origin.
    mutating func retryLater(
        _ key: LaneKey, _ change: Change, _ problem: ChangeProblem?, _ retryAfter: Duration?,
        atLeast least: Duration = .zero, _ turn: inout Turn
    ) {
        var change = change
        // A confirmed change only reads again.
        if change.state != .confirmed { change.state = .pending }
        change.problem = problem
        // The kind tells that the date is the origin's wish.
        if retryAfter != nil { change.problem?.kind = .throttled }
        change.nextAttempt = turn.now + max(pause(key, retryAfter, &turn), least)
        commit(key, change, then: .rest, &turn)
    }

    /// The pause after one more failure. The origin's wish wins.
    private mutating func pause(_ key: LaneKey, _ retryAfter: Duration?, _ turn: inout Turn) -> Duration {
        lanes[key]!.failures += 1
        return retryAfter.map(Backoff.pause) ?? Backoff.delay(failures: lanes[key]!.failures, jitter: turn.jitter)
    }

    mutating func noteFailure(_ key: LaneKey, _ turn: inout Turn) {
        guard let origin = lanes[key]?.head?.summary.target.origin else { return }
        missing[key.namespace] = nil
        hosts[origin]?.failed(turn.now, jitter: turn.jitter)
    }

    /// Tells the circuit about an answer. A 500 alone does not count as a failure of the host, because some servers
    /// report a conflict by it.
    mutating func noteAnswer(_ key: LaneKey, _ status: Int, _ retryAfter: Duration?, _ turn: inout Turn) {
        guard let origin = lanes[key]?.head?.summary.target.origin else { return }
        missing[key.namespace] = nil
        switch (status, retryAfter) {
        case (429, let time?), (503, let time?): pause(key.namespace, origin, Backoff.pause(time), &turn)
        case (429, nil):
            // A host with a limit for one namespace is there for the others.
            guard let time = hosts[origin]?.throttled(key.namespace, turn.now, jitter: turn.jitter) else { return }
            pause(key.namespace, origin, time, &turn)
        case (502, _), (503, _), (504, _): noteFailure(key, &turn)
        default: hosts[origin]?.answered(key.namespace, turn.now)
        }
    }

    private mutating func pause(_ namespace: String, _ origin: String, _ time: Duration, _ turn: inout Turn) {
        let pause = HostPause(namespace: namespace, origin: origin, start: turn.now, end: turn.now + time)
        if hosts[origin]?.pause(namespace, until: pause.end, longest: time, turn.now) == true {
            turn.actions.append(.notePause(pause))
        }
    }
}
