import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

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
        // If several answers are about to be stored, the cache keeps the answer of the fetch that departed last.
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
    /// of them have waited for this fetch before, until their patience ended.
    func overtakeOthers(_ fetch: GatewayFetch, where mayHave: (GatewayCall, Timestamp) -> Bool) {
        guard fetch.state.withLock(\.machine.isPatienceOver) else { return }
        let now = tools.clock.now()
        for other in visibleFetches(of: fetch.policy.leader)
        where other !== fetch && other.policy.isShared && mayHave(other.policy.leader, now) {
            other.handle(.overtaken) { $0.notes.overtaker = fetch }
            // An event without effect leaves the reference, and two fetches could then keep each other alive.
            other.state.withLock { $0.notes.overtaker = nil }
        }
    }

    /// Gives up a fetch without waiters and readers when a new fetch has to wait for its place at the origin. Otherwise
    /// clients that come and go, and origins that send very slowly, could occupy every place.
    ///
    /// `fetch` is in the line of the group already, so the last of several departing fetches sees all others there.
    func makeWay(for fetch: GatewayFetch) {
        let limits = tools.origin.configuration
        // Counts open transfers, because a fetch that only has to store its answer needs no place.
        guard tools.origin.openTransfers > min(limits.maxTransfersPerHost, limits.maxTransfers) else { return }
        let rivals = group.rivals(
            of: fetch, limitPerHost: limits.maxTransfersPerHost, limit: limits.maxTransfers)
        _ = rivals.first { $0.giveUp() }
    }

    /// Brings a stale response up to date after its client got it, unless such a refresh is under way.
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
    /// cannot share must not wait for each other. A request for an answer that is not kept ends with its client.
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
            // The origin has made the client's change, so an error is ignored. The cache reports a broken index itself.
            completion()
        }
    }
}
