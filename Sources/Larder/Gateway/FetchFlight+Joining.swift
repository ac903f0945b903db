import DiskCache
import HTTPCaching
import Origin
import Primitives

/// Who asks for the same while it is under way, and who leaves.
extension FetchFlight {
    /// Adds somebody who asks for the same URL, when this flight may answer it.
    ///
    /// - Parameter known: an earlier response to the URL: by what it varies this one most likely will, too.
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
                // A part goes to each client as it comes.
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

    /// The answer, when all of it has come, it is being stored, and `call` may have it in place of the older one that
    /// it selects. Whoever has read it to its end must not get that after it, because storing takes a moment.
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

    /// Whether there is an answer that may be shared, and all of it has come.
    var hasWholeAnswer: Bool {
        let shared: Shared? = state.withLock { state in
            if case .answered(let shared) = state.phase { shared } else { nil }
        }
        return shared.map { $0.flow.hasAll(of: $0.length) } ?? false
    }

    /// The last of the answer is about to go to clients: answers that were made of an older one are not to be used any
    /// more, see ``wholeAnswer(for:insteadOf:)``. And it only has to be stored now, which takes no place.
    func noteWholeAnswer() {
        if state.withLock({ note(&$0) }) { gateway.group.leave(self) }
    }

    /// Notes that the answer is whole, under the lock: who takes an older one for the present state after it finds this
    /// one. Whether it was not noted before.
    func note(_ state: inout State) -> Bool {
        guard !state.isWholeNoted else { return false }
        state.isWholeNoted = true
        tools.cache.noteChange(ofResponsesTo: leader.url)
        return true
    }

    /// Whether it may bring that very response up to date.
    func refreshes(_ held: HeldResponse) -> Bool {
        state.withLock { $0.held?.entry.key } == held.entry.key
    }

    /// A client is gone. The flight goes on as long as somebody waits or the answer may be kept.
    func leave(_ number: UInt64) {
        let transfer: OriginTransfer? = state.withLock { state in
            state.waiters.removeAll { $0.number == number }
            guard state.waiters.isEmpty, case .waiting = state.phase else { return nil }
            if !leader.request.isCacheable || !isKeepable { state.obey(.cancel) }
            return state.transfer
        }
        // What has not even departed is for nobody.
        transfer?.cancelIfWaiting()
    }

    /// The followers have waited long enough for the head: each is on its own from now on.
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

    /// Ends the flight if nobody waits for its answer or reads it, although it might be kept; whether it did.
    func giveUp() -> Bool {
        let (isUnwanted, flow, shared) = state.withLock { state -> (Bool, BodyFlow?, Shared?) in
            guard state.waiters.isEmpty else { return (false, nil, nil) }
            switch state.phase {
            case .waiting:
                state.isPatienceOver = true
                return (true, nil, nil)
            case .answered(let shared):
                // From here on nobody joins.
                state.phase = .answered(nil)
                return (true, state.flow, shared)
            case .confirming, .ended:
                return (false, nil, nil)
            }
        }
        guard isUnwanted else { return false }
        // Not under the lock: the flow's comes before it. What is over has no place to give.
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
