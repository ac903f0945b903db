import DiskCache
import HTTPCaching
import Origin
import Primitives

/// Calls that join a fetch, and fetches that are given up.
extension Fetch where Policy == GatewayPolicy {
    /// A later fetch has a higher number, across all namespaces.
    var number: UInt64 { policy.number }

    /// The result of ``admit(_:number:knowing:mayAskForRange:isWaiter:)`` for a call that comes during the fetch.
    enum GatewayAdmission {
        case waits(isFirst: Bool)
        case reads(SharedAnswer, BodyFlow.Newcomer)
        /// Carries the head of a shareable answer, because this head names the fields by which answers vary.
        case refused(StoredResponse?)
    }

    /// Adds a call for the same URL to the waiters or readers, if this fetch may answer it.
    ///
    /// A purged fetch takes no call. Neither does a fetch that would have more tags than an entry may have
    /// (`Entry.tagLimit`). The caller holds the lock of the URL's shard. `number` is 0 only for a call that does not
    /// wait. `known` is an earlier response to the URL; answers of this fetch most likely vary by the same fields.
    /// `mayAskForRange`: whether the origin may be asked for a range that lies far ahead of the received bytes.
    /// `isWaiter`: the answer has arrived after the call had waited for it.
    func admit(
        _ call: GatewayCall, number: UInt64 = 0, knowing known: StoredResponse? = nil, mayAskForRange: Bool = false,
        isWaiter: Bool = false
    ) -> GatewayAdmission {
        let (tags, leader) = (call.request.tags, policy.leader)
        let admission: GatewayAdmission = state.withLock { state in
            if state.reservation?.isPurged == true { return .refused(nil) }
            guard tags.isEmpty || state.notes.tags.union(tags).count <= Entry.tagLimit else { return .refused(nil) }
            if state.machine.takesWaiters {
                guard call.request.method == .get, call.isLike(leader, knowing: known) else { return .refused(nil) }
            } else {
                guard let shared = state.notes.shared else { return .refused(nil) }
                // The body of a part goes to every client as it arrives, so the call must want the same part.
                guard shared.head.part == nil || call.wantsSamePart(as: leader) else { return .refused(shared.head) }
            }
            switch state.machine.join(call, number: number) {
            case .waits(let isFirst): return .waits(isFirst: isFirst)
            case .reads: return state.notes.shared.map { .reads($0, BodyFlow.Newcomer($0.flow)) } ?? .refused(nil)
            case .queued, .refused: return .refused(state.notes.shared?.head)
            }
        }
        let now = tools.clock.now()
        if case .reads(let shared, _) = admission,
            !(isWaiter ? call.mayHaveAsWaiter(shared.head, now: now) : call.mayHave(shared.head, now: now))
                || (mayAskForRange && call.isFarAhead(of: shared, now: now))
        {
            return .refused(shared.head)
        }
        switch admission {
        case .waits: _ = state.withLock { addTags(of: call, &$0) }
        // A call that came too late to add its tags is decided anew, as a hit.
        case .reads(let shared, _): if !state.withLock({ addTags(of: call, &$0) }) { return .refused(shared.head) }
        case .refused: break
        }
        return admission
    }

    /// Adds a call's tags to the future entry, if the entry may have so many. Returns `false` if the fetch has ended.
    private func addTags(of call: GatewayCall, _ state: inout State) -> Bool {
        if call.request.tags.isEmpty { return true }
        let tags = state.notes.tags.union(call.request.tags)
        guard tags.count <= Entry.tagLimit else { return true }
        state.notes.tags = tags
        state.reservation?.addTags(call.request.tags.sorted())
        return state.machine.phase != .ended
    }

    /// Returns the whole answer while it is being stored, if `call` may have it in place of the older response `held`
    /// that it selects. A client that has read the answer must not get the older response afterwards.
    func wholeAnswer(for call: GatewayCall, insteadOf held: StoredResponse?) -> SharedAnswer? {
        let now = tools.clock.now()
        return state.withLock { state in
            guard let shared = state.notes.shared, state.notes.isWholeNoted, state.reservation?.isPurged == false,
                shared.head.part == nil, held.map({ shared.head.requestedAt >= $0.requestedAt }) ?? true,
                call.mayHave(shared.head, now: now), addTags(of: call, &state)
            else { return nil }
            return shared
        }
    }

    /// If the whole answer has arrived and is to be stored, decides anew about the call after the fetch has ended.
    /// Otherwise returns `false`, without effect.
    func awaitStoring(_ call: GatewayCall) -> Bool {
        state.withLock { state in
            guard state.notes.isWholeNoted, state.notes.stored != nil, state.machine.phase != .ended else {
                return false
            }
            state.notes.awaitsStoring.append(call)
            return true
        }
    }

    /// Whether the answer may be shared and all of it has arrived.
    var hasWholeAnswer: Bool {
        state.withLock(\.notes.shared).map { $0.flow.hasAll(of: $0.length) } ?? false
    }

    /// Notes that the last bytes of the answer are about to go to clients. Ready answers of an older response must not
    /// be used any more. The fetch also gives up its place at the origin, because the answer only has to be stored now.
    func noteWholeAnswer() {
        if state.withLock({ note(&$0) }) { policy.gateway.group.leave(self) }
    }

    /// Notes that the answer is whole. The caller holds the lock. Returns `false` when the answer was noted before.
    /// `isWholeNoted` is set before the cache's change mark of the URL moves. So a call that takes its mark afterwards,
    /// and selects an older response, finds this answer.
    func note(_ state: inout State) -> Bool {
        guard !state.notes.isWholeNoted else { return false }
        state.notes.isWholeNoted = true
        tools.cache.noteChange(ofResponsesTo: policy.leader.url)
        return true
    }

    /// Whether the fetch may bring this held response up to date.
    func refreshes(_ held: HeldResponse) -> Bool {
        state.withLock { $0.notes.held?.entry.key } == held.entry.key
    }

    /// Ends keeping: other calls no longer find this answer here, and the answer is not stored.
    func stopKeeping() {
        let (reservation, flow) = state.withLock { state in
            _ = state.machine.handle(.keepingEnded)
            (state.notes.stored, state.notes.shared) = (nil, nil)
            state.notes.arrived?.kept = nil
            return (state.reservation, state.notes.flow)
        }
        policy.gateway.noteHead(nil, of: self)
        flow?.stopKeeping()
        reservation?.abandon()
    }

    /// Cancels the fetch if no client waits for its answer or reads it, even if the answer may be kept. Returns whether
    /// the fetch was cancelled.
    func giveUp() -> Bool {
        let (closing, flow, actions) = state.withLock { state in
            let closing = state.machine.closeIfUnwaited()
            return (closing, state.notes.flow, closing == .closed ? state.machine.handle(.cancelled) : [])
        }
        switch closing {
        case .refused: return false
        case .closed:
            perform(actions)
            return true
        case .mayHaveReaders:
            // The flow's lock comes before the fetch's.
            if let flow, flow.isNeeded {
                state.withLock { $0.machine.reopen() }
                return false
            }
        }
        cancel()
        return true
    }
}
