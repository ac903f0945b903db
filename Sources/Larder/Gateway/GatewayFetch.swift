import DiskCache
import HTTPCaching
import HTTPTypes
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
    /// After a purge of its future entry, a fetch takes no call. It also refuses a call if the tags of both are more
    /// than `Entry.tagLimit`. The caller holds the lock of the URL's shard. `number` is 0 only for a call that does not
    /// wait. `known` is an earlier response to the URL; answers of this fetch most likely vary by the same fields.
    /// `mayAskForRange`: whether the origin may be asked for a range that lies far ahead of the received bytes.
    /// `isWaiter`: whether the call waited before this answer arrived, and so may get an answer that is stale already.
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
        // Refuses a call that came too late to add its tags. Its next look-up finds the stored answer.
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
    /// that the call selects. A client that has read the answer must not get the older response afterwards.
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

    /// Notes that the last bytes of the answer are about to go to clients. From now on, no ready answer of an older
    /// response is used. The fetch also gives up its place at the origin, because the answer only has to be stored now.
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
            // Asks the flow without the fetch's lock, because the flow's lock comes first.
            if let flow, flow.isNeeded {
                state.withLock { $0.machine.reopen() }
                return false
            }
        }
        cancel()
        return true
    }
}

/// The fetches that are under way.
extension Gateway {
    /// Requests to origins that are under way.
    package var fetchCount: Int { shards.sum { $0.fetches.count } }

    /// The oldest first.
    var fetches: [GatewayFetch] {
        shards.all.flatMap { shard in shard.withLock { $0.fetches.all } }.sorted { $0.number < $1.number }
    }

    /// Ends the fetches without waiters and readers.
    func endUnread() {
        for fetch in fetches { _ = fetch.giveUp() }
    }

    /// Refuses new requests from now on, and ends all fetches.
    package func stop() {
        for shard in shards.all { shard.withLock { $0.isStopping = true } }
        for fetch in fetches { fetch.cancel() }
    }

    /// Returns a newer answer, which has arrived whole and is not stored yet, to serve in place of a stored response.
    func newerAnswer(for call: GatewayCall, insteadOf held: StoredResponse?) -> SharedAnswer? {
        let fetches = shard(of: call.url).withLock { $0.fetches.answered(for: call) }
        // If several answers are about to be stored, the cache keeps the answer to the request that was sent last.
        for fetch in fetches.reversed() {
            if let answer = fetch.wholeAnswer(for: call, insteadOf: held) { return answer }
        }
        return nil
    }

    /// Returns the fetches of the call's URL, regardless of the call's other properties.
    func visibleFetches(of call: GatewayCall) -> [GatewayFetch] {
        shard(of: call.url).withLock { $0.fetches.visible(ofURL: call.request.url.string) }
    }

    /// Decides anew about the clients that wait for other fetches, because this fetch has an answer for them now. Most
    /// of these clients have waited for this fetch before, until the time limit.
    func overtakeOthers(_ fetch: GatewayFetch, where mayHave: (GatewayCall, Timestamp) -> Bool) {
        guard fetch.state.withLock(\.machine.isPatienceOver) else { return }
        let now = tools.clock.now()
        for other in visibleFetches(of: fetch.policy.leader)
        where other !== fetch && other.policy.isShared && mayHave(other.policy.leader, now) {
            other.handle(.overtaken) { $0.notes.overtaker = fetch }
            // If the event had no effect, the reference is still set, and two fetches could keep each other alive.
            other.state.withLock { $0.notes.overtaker = nil }
        }
    }

    /// Gives up a fetch without waiters and readers when a new fetch has to wait for its place at the origin. Otherwise
    /// clients that come and go, and origins that send very slowly, could occupy every place.
    ///
    /// `fetch` is in the ``GatewayGroup`` already, so of several new fetches, the last one finds all others there.
    func makeWay(for fetch: GatewayFetch) {
        let limits = tools.origin.configuration
        // Counts open transfers, because a fetch that only has to store its answer needs no place.
        guard tools.origin.openTransfers > min(limits.maxTransfersPerHost, limits.maxTransfers) else { return }
        let rivals = group.rivals(
            of: fetch, limitPerHost: limits.maxTransfersPerHost, limit: limits.maxTransfers)
        _ = rivals.first { $0.giveUp() }
    }

    /// Brings a stale response up to date after the client got the response, unless such a refresh is under way.
    func refresh(_ held: HeldResponse, for call: GatewayCall) {
        var request = call.request
        // An answer to HEAD would bring no body to store.
        request.method = .get
        for name in [
            HTTPField.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .cacheControl,
        ] {
            request.fields[values: name] = []
        }
        let background = GatewayCall(request, interim: { _, _ in }) { result in
            if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
        }
        let isUnderWay = shard(of: background.url).withLock { state in
            state.fetches.refreshing(held.entry.key).contains { $0.refreshes(held) }
        }
        if !isUnderWay { send(background, held: held, isValidating: !Validators(held.head.fields).isEmpty) }
    }

    /// Updates the table when an answer's head arrives. `nil`: no other call may use the answer any more.
    func noteHead(_ head: StoredResponse?, of fetch: GatewayFetch) {
        shard(of: fetch.policy.leader.url).withLock { $0.fetches.noteHead(head, of: fetch) }
    }

    func remove(_ fetch: GatewayFetch) {
        shard(of: fetch.policy.leader.url).withLock { $0.fetches.remove(fetch) }
        group.leave(fetch)
    }

    /// Remembers for a while whether requests like this call can share an answer, and whether it is kept. Requests that
    /// cannot share must not wait for each other. A request for an answer that is not kept ends when its client leaves.
    func learn(of call: GatewayCall, isValidation: Bool, isShareable: Bool, isKept: Bool) {
        let (kind, now) = (call.sharingHash(isValidating: isValidation), tools.clock.now())
        hints[kind].withLock { $0.note(kind, isShareable: isShareable, isKept: isKept, now: now) }
    }

    /// Remembers for a while that the origin ignores ranges. A request for another range would bring the whole body.
    func learnOfIgnoredRange(in call: GatewayCall) {
        let (kind, now) = (call.rangeHash, tools.clock.now())
        hints[kind].withLock { $0.note(kind, isShareable: false, isKept: true, now: now) }
    }
}

/// Changes stored responses, for other reasons than a new answer to GET.
extension Gateway {
    /// Updates a stored answer to GET from an answer to HEAD (RFC 9111 §4.3.5). `whole` also has the fields that end at
    /// this hop; see ``HeldResponse/update(from:_:for:)``.
    func compare(_ held: HeldResponse, with answer: OriginAnswer, _ whole: OriginAnswer, _ call: GatewayCall) {
        var (head, judged) = (held.entryHead, held.entryHead)
        guard judged.update(fromHEAD: whole, for: call.cacheRequest) != .unrelated,
            head.update(fromHEAD: answer, for: call.cacheRequest) != .unrelated
        else { return }
        (head.grant, head.selection) = (judged.grant, judged.selection)
        let reservation = tools.cache.reserve(responseTo: call.url)
        reservation.decide(CacheKey(held.entry.key) ?? reservation.key, tags: CacheGroups(head.fields).names)
        // The cache drops the update if the entry has been replaced, because the update is about the old body.
        let refresh = call.refresh(of: held.entry, head, from: answer.requestedAt, to: answer.receivedAt)
        reservation.publishUnchanged(held.entry, refresh) { _ in }
    }

    /// Removes the responses that a change at the origin has made wrong (RFC 9111 §4.4, RFC 9875 §3). Calls
    /// `completion` once the removal is durable. Spares `reservation`, the entry that the answer itself may become.
    func invalidate(
        _ urls: [String], _ groups: CacheGroups, of url: ExactURL, sparing reservation: Reservation?,
        completion: @escaping @Sendable () -> Void
    ) {
        let origin = "\(url.scheme)://\(url.authority)/"
        let filters =
            urls.map { EntryFilter(url: $0, kind: .response) }
            + groups.names.map { EntryFilter(prefix: origin, tag: $0, kind: .response) }
        tools.cache.remove(matching: filters, sparing: reservation) { _ in
            // Ignores an error, because the origin has made the change anyway. The cache reports a broken index.
            completion()
        }
    }
}
