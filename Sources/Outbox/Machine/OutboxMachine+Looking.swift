import Primitives

/// The steps from a head that starts to its request: look, compare, merge.
extension OutboxMachine {
    mutating func loaded(_ id: Change.ID, _ change: Change?, _ turn: inout Turn) {
        guard let key = laneOf[id], lanes[key]?.head?.id == id, case .loading? = lanes[key]?.phase else { return }
        guard var change else {
            idle(key, until: turn.now, turn.now)
            return remove(id)
        }
        switch change.state {
        case .pending, .blocked:
            change.state = .pending
            lanes[key]!.change = change
            goOn(key, &turn)
        case .sending: outcomeUnknown(key, change, status: nil, retryAfter: nil, isRestart: true, &turn)
        case .confirmed:
            lanes[key]!.change = change
            confirm(key, &turn)
        case .done, .uncertain, .conflict, .rejected, .cancelled, .expired:
            lanes[key]!.queue[0].summary = change.summary
            rest(key, change, &turn)
        }
    }

    mutating func goOn(_ key: LaneKey, _ turn: inout Turn) {
        let change = lanes[key]!.change!
        if change.isExpired(turn.now), !change.mayBeApplied { return hold(key, change, .expired, nil, &turn) }
        if needsLook(change, lanes[key]!.refusals, turn.now) { return look(key, &turn) }
        send(key, ownContent(change), Self.guarding(change), &turn)
    }

    /// The precondition of a request on the base.
    private static func guarding(_ change: Change) -> WriteGuard {
        switch (change.draft.edit, change.draft.base) {
        case (.post, _), (_, .blind): .unguarded
        case (_, .version(let version)): guarding(version)
        case (_, .absent): .ifNoneMatchAny
        }
    }

    /// - Parameter refusals: the refusals in a row because of the state of the resource.
    private func needsLook(_ change: Change, _ refusals: Int, _ now: Timestamp) -> Bool {
        let isUnseen = change.attempts == 0 && !change.mayBeApplied
        let isFresh = isUnseen && now >= change.created && now - change.created <= Self.freshAge
        switch (change.draft.edit, change.draft.base) {
        case (.post, _): return false
        case (_, .blind): return (change.mayBeApplied && !change.skipsLook) || refusals > 0
        case (_, .absent): return !isFresh
        case (_, .version(let version)): return !isFresh || version.validator == nil
        }
    }

    /// The content of a request on an unchanged base.
    func ownContent(_ change: Change) -> SendContent {
        let isPatch = change.draft.method == "PATCH"
        return switch change.draft.edit {
        case .delete: .none
        case .mergePatch(let text) where isPatch: .mergePatch(text)
        case .jsonPatch(let text) where isPatch: .jsonPatch(text)
        case .replace, .mergePatch, .jsonPatch, .post: .body(change.draft.ours ?? [])
        }
    }

    mutating func look(_ key: LaneKey, _ turn: inout Turn) {
        lanes[key]!.hops = 0
        look(key, at: lanes[key]!.change!.draft.target.url, &turn)
    }

    private mutating func look(_ key: LaneKey, at url: String, _ turn: inout Turn) {
        if waitsForPause(key, turn.now) { return }
        lanes[key]!.phase = .looking
        turn.actions.append(.read(readOrder(key, url, .look)))
    }

    /// Gives up a flight that another request's answer has overtaken, if the origin wants no request by now. The row
    /// must not be in the state `sending`.
    mutating func waitsForPause(_ key: LaneKey, _ now: Timestamp) -> Bool {
        guard let origin = lanes[key]?.head?.summary.target.origin, hosts[origin]?.isPaused(key.namespace, now) == true
        else {
            return false
        }
        idle(key, until: now, now)
        return true
    }

    func readOrder(_ key: LaneKey, _ url: String, _ purpose: ReadOrder.Purpose) -> ReadOrder {
        let change = lanes[key]!.change!
        return ReadOrder(
            flight: Flight(change: change.id, number: lanes[key]!.flight), purpose: purpose,
            namespace: change.draft.namespace, url: url, target: change.draft.target,
            fields: purpose == .look ? change.draft.fieldsOfLook : [], credential: change.draft.credential)
    }

    // MARK: - Answers of a GET

    mutating func readAnswered(_ flight: Flight, _ answer: ReadAnswer, _ turn: inout Turn) {
        guard let key = lane(of: flight) else { return }
        noteAnswer(key, answer.status, answer.retryAfter, &turn)
        switch lanes[key]!.phase {
        case .looking: looked(key, answer, &turn)
        case .confirming: confirmationRead(key, answer, &turn)
        case .idle, .loading, .merging, .committing, .sending, .removing: break
        }
    }

    mutating func readFailed(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight) else { return }
        let problem = ChangeProblem(.unreachable)
        switch lanes[key]!.phase {
        case .looking:
            noteFailure(key, &turn)
            lookLater(key, lanes[key]!.change!, problem, nil, &turn)
        case .confirming:
            noteFailure(key, &turn)
            confirmLater(key, lanes[key]!.change!, problem, nil, &turn)
        case .idle, .loading, .merging, .committing, .sending, .removing: break
        }
    }

    private mutating func looked(_ key: LaneKey, _ answer: ReadAnswer, _ turn: inout Turn) {
        let change = lanes[key]!.change!
        switch ReadMeaning(status: answer.status) {
        case .present: sawVersion(key, change, answer, &turn)
        case .absent: sawAbsence(key, change, &turn)
        case .credential: block(key, change, answer.status, &turn)
        case .redirect:
            if let url = nextHop(key, answer.location) { return look(key, at: url, &turn) }
            hold(key, change, unreadableState(change), ChangeProblem(.redirected, status: answer.status), &turn)
        case .later:
            let kind: ChangeProblem.Kind = answer.status == 429 ? .throttled : .unreachable
            let problem = ChangeProblem(kind, status: answer.status)
            lookLater(key, change, problem, answer.retryAfter, &turn)
        case .unreadable:
            hold(key, change, unreadableState(change), ChangeProblem(.unreadable, status: answer.status), &turn)
        }
    }

    /// A look that fails after the date of expiry is not repeated.
    private mutating func lookLater(
        _ key: LaneKey, _ change: Change, _ problem: ChangeProblem, _ retryAfter: Duration?, _ turn: inout Turn
    ) {
        if change.isExpired(turn.now) {
            return hold(key, change, .expired, problem, &turn)
        }
        retryLater(key, change, problem, retryAfter, &turn)
    }

    /// Only a GET tells whether an earlier request had its effect.
    func unreadableState(_ change: Change) -> ChangeState { change.mayBeApplied ? .uncertain : .rejected }

    private mutating func sawAbsence(_ key: LaneKey, _ change: Change, _ turn: inout Turn) {
        if change.draft.edit == .delete { return finish(key, change, isShown: false, &turn) }
        if change.draft.base == .blind { return sendBlindly(key, change, over: nil, &turn) }
        if isContradiction(key, .absent) { return contradiction(key, change, nil, &turn) }
        guard change.draft.base == .absent else { return clash(key, change, nil, .deleted, &turn) }
        send(key, ownContent(change), .ifNoneMatchAny, &turn)
    }

    private mutating func sawVersion(_ key: LaneKey, _ change: Change, _ answer: ReadAnswer, _ turn: inout Turn) {
        let digest = answer.mark.digest
        if let ours = change.draft.ours, BodyDigest(of: ours) == digest {
            return sawEffect(key, change, isStored: answer.isStored, &turn)
        }
        if lanes[key]!.isKeyRefused {
            let version = ResourceVersion(body: answer.body, digest: digest, validator: nil)
            return clash(key, change, version, .stateRefused, status: 409, &turn)
        }
        // A request without a precondition needs no tag.
        if change.draft.base == .blind {
            let version = ResourceVersion(body: answer.body, digest: digest, validator: nil)
            return sendBlindly(key, change, over: version, &turn)
        }
        guard let version = settledVersion(key, change, answer, &turn) else { return }
        if isContradiction(key, .version(digest)) { return contradiction(key, change, version, &turn) }
        let mergesRewriting = change.mergesRewriting(digest)
        if change.isBase(digest), !mergesRewriting {
            return send(key, ownContent(change), Self.guarding(version), &turn)
        }
        // Without its body, a version cannot be merged or compared. A digest of an absent base needs none.
        let base = change.draft.base.version
        guard let theirs = version.body, base == nil || base?.body != nil else {
            return clash(key, change, version, .clash, &turn)
        }
        // A rewriting is no edit of a rival, so no person has to decide where it clashes.
        let prefersOurs = mergesRewriting || change.draft.onConflict == .ours
        lanes[key]!.phase = .merging(version, isStored: answer.isStored)
        turn.actions.append(
            .merge(
                MergeOrder(
                    flight: Flight(change: change.id, number: lanes[key]!.flight), base: base?.body,
                    ours: change.draft.ours, theirs: theirs, prefersOurs: prefersOurs,
                    patch: change.draft.method == "PATCH" ? change.draft.edit : nil)))
    }

    /// Sends a blind change, unless the origin has refused it for a third time. No other state of the resource lets it
    /// succeed, so a person has to decide.
    private mutating func sendBlindly(
        _ key: LaneKey, _ change: Change, over version: ResourceVersion?, _ turn: inout Turn
    ) {
        let isKeyed = lanes[key]!.isKeyRefused
        guard lanes[key]!.refusals > Self.promptRefusals || isKeyed else {
            return send(key, ownContent(change), .unguarded, &turn)
        }
        clash(key, change, version, .stateRefused, status: isKeyed ? 409 : lanes[key]!.refusedStatus, &turn)
    }

    /// Notes the state of the resource. Returns whether the origin has refused the precondition of this very state
    /// twice, so that a third request would be refused, too.
    private mutating func isContradiction(_ key: LaneKey, _ sight: Lane.Sight) -> Bool {
        lanes[key]!.sight = sight
        return lanes[key]!.refusals >= Self.promptRefusals && lanes[key]!.refusedSight == sight
    }

    private mutating func contradiction(
        _ key: LaneKey, _ change: Change, _ version: ResourceVersion?, _ turn: inout Turn
    ) {
        clash(key, change, version, .validatorRefused, status: lanes[key]!.refusedStatus, &turn)
    }

    static func guarding(_ version: ResourceVersion) -> WriteGuard {
        version.validator.map(WriteGuard.ifMatch) ?? .unguarded
    }

    // MARK: - Merges

    mutating func merged(_ flight: Flight, _ result: MergeResult, _ turn: inout Turn) {
        guard let key = lane(of: flight), case .merging(let version, let isStored) = lanes[key]!.phase else {
            return decisionMerged(flight, result, &turn)
        }
        let change = lanes[key]!.change!
        switch result {
        case .equalsTheirs: sawEffect(key, change, isStored: isStored, &turn)
        case .theirsIsBase: send(key, ownContent(change), Self.guarding(version), &turn)
        case .clash where change.mergesRewriting(version.digest):
            send(key, ownContent(change), Self.guarding(version), &turn)
        case .clash, .takenBack: clash(key, change, version, .clash, &turn)
        case .clean(let body, let patch):
            guard change.draft.onConflict != .hold, let content = mergedContent(change, body, patch) else {
                return clash(key, change, version, .clash, &turn)
            }
            send(key, content, Self.guarding(version), &turn)
        }
    }

    private func mergedContent(_ change: Change, _ body: [UInt8], _ patch: [UInt8]?) -> SendContent? {
        guard change.draft.method == "PATCH" else { return .body(body) }
        return switch change.draft.edit {
        case .mergePatch: patch.map(SendContent.mergePatch)
        case .jsonPatch: patch.map(SendContent.jsonPatch)
        case .replace, .delete, .post: nil
        }
    }

    /// Follows the policy of the change. `version` is `nil` when the resource is gone, or when its version is unknown.
    mutating func clash(
        _ key: LaneKey, _ change: Change, _ version: ResourceVersion?, _ kind: ChangeProblem.Kind,
        status: Int? = nil, _ turn: inout Turn
    ) {
        var change = change
        let problem = ChangeProblem(kind, status: status)
        if change.isExpired(turn.now) { return hold(key, change, .expired, problem, &turn) }
        switch (change.draft.onConflict, kind) {
        case (.theirs, .clash), (.theirs, .deleted):
            hold(key, change, .cancelled, ChangeProblem(.theirsTaken), &turn)
        case (.ours, .clash) where version != nil && change.draft.method != "PATCH":
            send(key, ownContent(change), version.map(Self.guarding) ?? .unguarded, &turn)
        default:
            change.theirs = version
            if let count = version?.body?.count, count > limits.changeBytes { change.theirs?.body = nil }
            hold(key, change, .conflict, problem, &turn)
        }
    }

    /// Commits a state in which the head rests: held, or ended.
    mutating func hold(
        _ key: LaneKey, _ change: Change, _ state: ChangeState, _ problem: ChangeProblem?, _ turn: inout Turn
    ) {
        var change = change
        change.state = state
        change.problem = problem
        change.nextAttempt = nil
        // The origin's version of an earlier conflict does not belong to this state.
        if state != .conflict { change.theirs = nil }
        commit(key, change, then: .rest, &turn)
    }
}
