import Primitives

/// The reads after a confirmation, which show readers the effect of a change, and the end of the change.
extension OutboxMachine {
    mutating func confirm(_ key: LaneKey, _ turn: inout Turn) {
        let change = lanes[key]!.change!
        if let shown = lanes[key]!.shown { return finishConfirmed(key, change, shown, isStored: true, &turn) }
        if change.draft.edit == .post { return finish(key, change, isShown: true, &turn) }
        // The clock may have gone back.
        lanes[key]!.confirmedSince = min(lanes[key]!.confirmedSince ?? turn.now, turn.now)
        if waitsForPause(key, turn.now) { return }
        lanes[key]!.phase = .confirming
        lanes[key]!.hops = 0
        turn.actions.append(.read(readOrder(key, change.draft.target.url, .confirmation)))
    }

    /// Waits for the next read. A change that no GET shows must not stop its lane for ever, so this process gives up
    /// after some time.
    mutating func confirmLater(
        _ key: LaneKey, _ change: Change, _ problem: ChangeProblem, _ retryAfter: Duration?, _ turn: inout Turn
    ) {
        if isOverdue(key, since: lanes[key]!.confirmedSince, turn.now) {
            return finish(key, change, isShown: false, &turn)
        }
        retryLater(key, change, problem, retryAfter, &turn)
    }

    private func isOverdue(_ key: LaneKey, since start: Timestamp?, _ now: Timestamp) -> Bool {
        let patience = lanes[key]!.queue.count > 1 ? Self.patienceOfLane : Self.patience
        return start.map { now - $0 >= patience } ?? false
    }

    mutating func confirmationRead(_ key: LaneKey, _ answer: ReadAnswer, _ turn: inout Turn) {
        let change = lanes[key]!.change!
        switch ReadMeaning(status: answer.status) {
        case .later:
            let kind: ChangeProblem.Kind = answer.status == 429 ? .throttled : .unreachable
            confirmLater(key, change, ChangeProblem(kind, status: answer.status), answer.retryAfter, &turn)
        case .present:
            finishConfirmed(key, change, Lane.Shown(answer), isStored: answer.isStored, &turn)
        case .redirect:
            guard let url = nextHop(key, answer.location) else { return finish(key, change, isShown: false, &turn) }
            turn.actions.append(.read(readOrder(key, url, .confirmation)))
        // No later GET would show more.
        case .absent, .credential, .unreadable: finish(key, change, isShown: false, &turn)
        }
    }

    mutating func stored(
        _ namespace: String, _ key: String, _ ticket: UInt64, _ etag: String?, _ digest: BodyDigest,
        _ turn: inout Turn
    ) {
        for lane in confirmed where lane.namespace == namespace {
            guard let head = lanes[lane]?.head, head.summary.target.key == key, ticket >= lanes[lane]!.confirmedTicket
            else { continue }
            let shown = Lane.Shown(etag: etag, digest: digest, body: nil)
            switch lanes[lane]!.phase {
            case .confirming:
                if let change = lanes[lane]!.change { finishConfirmed(lane, change, shown, isStored: true, &turn) }
            // The head waits for its next read, which may be a day away, and needs it no more.
            case .idle: decide(.finish(shown), [head.id], &turn)
            case .loading, .committing: lanes[lane]!.shown = shown
            case .looking, .merging, .sending, .removing: break
            }
        }
    }

    private mutating func finishConfirmed(
        _ key: LaneKey, _ change: Change, _ shown: Lane.Shown, isStored: Bool, _ turn: inout Turn
    ) {
        noteRewrite(key, change, shown, &turn)
        finish(key, change, isShown: isStored, &turn)
    }

    /// A tag that is a digest of the body names only the version that the request has made. If this body differs from
    /// the sent body, then the origin has rewritten it, and the authors of later changes have seen ours. Any other tag
    /// can also name a rival's version of the same second.
    func noteRewrite(_ key: LaneKey, _ change: Change, _ shown: Lane.Shown, _ turn: inout Turn) {
        guard let ours = change.draft.ours.map(BodyDigest.init(of:)), let lane = lanes[key], lane.sentDigest == ours,
            ours != shown.digest, change.draft.edit != .post, let tag = lane.confirmedTag, tag == shown.digestTag
        else { return }
        turn.actions.append(
            .noteRewrite(
                RewriteNote(
                    namespace: key.namespace, key: change.draft.target.key, after: change.id, sent: ours,
                    stored: shown.digest)))
    }

    // MARK: - The end of a change with an effect

    /// The version that a look has found shows the effect.
    mutating func sawEffect(_ key: LaneKey, _ change: Change, isStored: Bool, _ turn: inout Turn) {
        // A GET without the fields of the change can show the effect to other readers.
        if !isStored, !change.draft.fieldsOfLook.isEmpty { return confirmed(key, change, nil, &turn) }
        finish(key, change, isShown: isStored, &turn)
    }

    /// - Parameter isShown: whether the version in the cache shows the effect. Otherwise the version is older, and
    ///   leaves the cache before the change is done, so that no reader finds it afterwards.
    mutating func finish(_ key: LaneKey, _ change: Change, isShown: Bool, _ turn: inout Turn) {
        // A POST has another effect than a new version of its URL.
        guard !isShown, change.draft.edit != .post else { return hold(key, change, .done, nil, &turn) }
        // The clock may have gone back.
        lanes[key]!.removingSince = min(lanes[key]!.removingSince ?? turn.now, turn.now)
        lanes[key]!.change = change
        lanes[key]!.phase = .removing
        turn.actions.append(
            .removeVersion(
                RemovalOrder(
                    flight: Flight(change: change.id, number: lanes[key]!.flight), namespace: change.draft.namespace,
                    target: change.draft.target, isDeletion: change.draft.edit == .delete)))
    }

    mutating func versionRemoved(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), case .removing = lanes[key]!.phase else { return }
        hold(key, lanes[key]!.change!, .done, nil, &turn)
    }

    /// A change that left the view now would show readers the older version. So the head reads again after a pause, and
    /// then ends as before. A cache that fails for as long as reads may fail must not stop the lane for ever.
    mutating func versionNotRemoved(_ flight: Flight, _ turn: inout Turn) {
        guard let key = lane(of: flight), case .removing = lanes[key]!.phase else { return }
        if isOverdue(key, since: lanes[key]!.removingSince, turn.now) {
            return hold(key, lanes[key]!.change!, .done, nil, &turn)
        }
        storageFailed(key, &turn)
    }
}
