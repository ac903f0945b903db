import DiskCache
import HTTPCaching
import Origin
import Primitives

/// Calls that join a flight, and clients that leave it.
extension FetchFlight {
    /// Adds a call for the same URL to the waiters or readers, if this flight may answer it.
    ///
    /// A purged flight takes no call. Neither does a flight that would have more tags than an entry may have
    /// (`Entry.tagLimit`). The caller holds the lock of the URL's shard.
    ///
    /// - Parameter known: an earlier response to the URL. Answers of this flight most likely vary by the same fields.
    func admit(_ call: GatewayCall, knowing known: StoredResponse?) -> Admission {
        let tags = call.request.tags
        let admission: Admission = state.withLock { state in
            if state.reservation?.isPurged == true { return .refused(nil) }
            guard tags.isEmpty || state.tags.union(tags).count <= Entry.tagLimit else { return .refused(nil) }
            switch state.phase {
            case .waiting, .confirming:
                guard isShared, !state.isPatienceOver, call.request.method == .get, call.isLike(leader, knowing: known)
                else {
                    return .refused(nil)
                }
                let number = state.nextNumber
                state.nextNumber += 1
                state.waiters.append(Waiter(number: number, call: call, isFollower: true))
                return .waits(number: number, isFirst: number == 1)
            case .answered(let shared):
                // The body of a part goes to every client as it arrives, so the call must want the same part.
                guard let shared, shared.head.part == nil || call.wantsSamePart(as: leader) else {
                    return .refused(shared?.head)
                }
                return .reads(shared)
            case .ended:
                return .refused(nil)
            }
        }
        if case .reads(let shared) = admission, !call.mayHave(shared.head, now: tools.clock.now()) {
            return .refused(shared.head)
        }
        if case .refused = admission { return admission }
        if !tags.isEmpty {
            state.withLock { state in
                state.tags.formUnion(tags)
                state.reservation?.addTags(tags.sorted())
            }
        }
        return admission
    }

    /// Returns the answer when all of it has arrived, it is being stored, and `call` may have it in place of the older
    /// response `held` that the call selects. Storing takes a moment, and a client that has read the answer to its end
    /// must not get the older response afterwards.
    func wholeAnswer(for call: GatewayCall, insteadOf held: StoredResponse) -> Shared? {
        let shared: Shared? = state.withLock { state in
            guard case .answered(let shared?) = state.phase, state.isWholeNoted, state.reservation?.isPurged == false,
                shared.head.part == nil, shared.head.requestedAt >= held.requestedAt
            else { return nil }
            return shared
        }
        guard let shared, call.mayHave(shared.head, now: tools.clock.now()) else { return nil }
        return shared
    }

    /// Whether the answer may be shared and all of it has arrived.
    var hasWholeAnswer: Bool {
        let shared: Shared? = state.withLock { state in
            if case .answered(let shared) = state.phase { shared } else { nil }
        }
        return shared.map { $0.flow.hasAll(of: $0.length) } ?? false
    }

    /// Notes that the last bytes of the answer are about to go to clients. Ready answers that were made of an older
    /// response must not be used any more; see ``wholeAnswer(for:insteadOf:)``. The flight also gives up its place at
    /// the origin, because the answer only has to be stored now.
    func noteWholeAnswer() {
        if state.withLock({ note(&$0) }) { gateway.group.leave(self) }
    }

    /// Notes that the answer is whole. The caller holds the lock.
    ///
    /// `isWholeNoted` is set before the cache's change mark of the URL moves. So a call that takes its mark afterwards,
    /// and selects an older response, finds this answer by ``wholeAnswer(for:insteadOf:)``. Returns `false` when the
    /// answer was noted before.
    func note(_ state: inout State) -> Bool {
        guard !state.isWholeNoted else { return false }
        state.isWholeNoted = true
        tools.cache.noteChange(ofResponsesTo: leader.url)
        return true
    }

    /// Whether the flight may bring this held response up to date.
    func refreshes(_ held: HeldResponse) -> Bool {
        state.withLock { $0.held?.entry.key } == held.entry.key
    }

    /// Removes a client that has left. The flight continues while another client waits, or when the answer may be kept.
    /// Otherwise it is cancelled.
    func leave(_ number: UInt64) {
        let transfer: OriginTransfer? = state.withLock { state in
            state.waiters.removeAll { $0.number == number }
            guard state.waiters.isEmpty, case .waiting = state.phase else { return nil }
            if !leader.request.isCacheable || !isKeepable { state.obey(.cancel) }
            return state.transfer
        }
        // No client waits for a transfer that is still queued for its turn at the origin, so it is cancelled even if
        // its answer might be kept. A transfer that has begun continues.
        transfer?.cancelIfWaiting()
    }

    /// Sends the followers away when they have waited long enough for the head: each continues alone. Later calls
    /// cannot wait for the head either.
    func releaseFollowers() {
        let followers: [Waiter] = state.withLock { state in
            state.isPatienceOver = true
            guard case .waiting = state.phase else { return [] }
            let followers = state.waiters.filter(\.isFollower)
            state.waiters.removeAll(where: \.isFollower)
            return followers
        }
        for follower in followers { gateway.goAlone(follower.call) }
    }

    /// Cancels the flight if no client waits for its answer or reads it, even when the answer might be kept. Returns
    /// whether it did. A flight in the phase `confirming` or `ended` is never given up.
    func giveUp() -> Bool {
        let (isUnwanted, flow, shared) = state.withLock { state -> (Bool, BodyFlow?, Shared?) in
            guard state.waiters.isEmpty else { return (false, nil, nil) }
            switch state.phase {
            case .waiting:
                state.isPatienceOver = true
                return (true, nil, nil)
            case .answered(let shared):
                // Closes the flight to new calls while the flow is asked. The phase gets `shared` back if the flight
                // continues.
                state.phase = .answered(nil)
                return (true, state.flow, shared)
            case .confirming, .ended:
                return (false, nil, nil)
            }
        }
        guard isUnwanted else { return false }
        // Asks the flow without the flight's lock, because the flow's lock comes first. The flight continues if the
        // flow has readers, or its first reader has not come yet. It also continues if the flow is complete, because a
        // complete transfer has no place to give up.
        if let flow, flow.isComplete || flow.followerCount > 0 || !flow.hasBeenRead {
            state.withLock { state in
                if case .answered(nil) = state.phase { state.phase = .answered(shared) }
            }
            return false
        }
        cancel()
        return true
    }
}
