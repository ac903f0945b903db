import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The fetches that are under way.
extension Gateway {
    /// The number of requests to origins that are under way.
    package var fetchCount: Int { shards.forEach { $0.fetches.count }.reduce(0, +) }

    /// The requests to origins that are under way, the oldest first.
    var fetches: [GatewayFetch] { shards.forEach { $0.fetches.all }.flatMap(\.self).sorted { $0.number < $1.number } }

    /// Ends the fetches without waiters and readers.
    func endUnread() {
        for fetch in fetches { _ = fetch.giveUp() }
    }

    /// Refuses new requests from now on, and ends all fetches.
    package func stop() {
        let fetches = shards.forEach { state in
            state.isStopping = true
            return state.fetches.all
        }
        for fetch in fetches.joined() { fetch.cancel() }
    }

    /// Returns the answer to serve in place of a stored response: a newer answer that has arrived whole and is not
    /// stored yet.
    func newerAnswer(for call: GatewayCall, insteadOf held: StoredResponse?) -> SharedAnswer? {
        let fetches = shards.withState(of: call.url) { $0.fetches.answered(for: call) }
        // Several answers may be on their way to the writer. The answer of the fetch that departed last is the one
        // that stays.
        for fetch in fetches.reversed() {
            if let answer = fetch.wholeAnswer(for: call, insteadOf: held) { return answer }
        }
        return nil
    }

    /// Gives up a fetch without waiters and readers when a new fetch has to wait for its place at the origin.
    /// Otherwise clients that come and go, and origins that trickle, could occupy every place, regardless of the
    /// namespace.
    ///
    /// `fetch` is in the line of the group already. So when several fetches depart at once, the last of them sees all
    /// others in the line.
    func makeWay(for fetch: GatewayFetch) {
        let limits = tools.origin.configuration
        // Counts open transfers instead of fetches, because a fetch that only has to store its answer needs no place,
        // and there may be many such fetches.
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
        let isUnderWay = shards.withState(of: background.url) { state in
            state.fetches.refreshing(held.entry.key).contains { $0.refreshes(held) }
        }
        if !isUnderWay { send(background, held: held, isValidating: !Validators(held.head.fields).isEmpty) }
    }

    /// Updates the table when the head of a fetch's answer arrives.
    ///
    /// - Parameter head: `nil` when no other call may use that answer, or no longer may.
    func noteHead(_ head: StoredResponse?, of fetch: GatewayFetch) {
        shards.withState(of: fetch.policy.leader.url) { $0.fetches.noteHead(head, of: fetch) }
    }

    /// Removes a fetch that has ended.
    func remove(_ fetch: GatewayFetch) {
        shards.withState(of: fetch.policy.leader.url) { $0.fetches.remove(fetch) }
        group.leave(fetch)
    }

    /// Remembers for a while how requests like this call fare. Requests that cannot share an answer must not queue
    /// behind each other, and a request ends with its client when its answer will not be kept.
    ///
    /// - Parameter isValidation: whether the request validates a held response.
    func learn(of call: GatewayCall, isValidation: Bool, isShareable: Bool, isKept: Bool) {
        let (kind, now) = (call.sharingHash(isValidating: isValidation), tools.clock.now())
        shards.withHints(of: kind) { $0.note(kind, isShareable: isShareable, isKept: isKept, now: now) }
    }

    /// Remembers for a while that the origin answers with the whole body although a range was asked for. Another
    /// request for a range would bring the same body once more.
    func learnOfIgnoredRange(in call: GatewayCall) {
        let (kind, now) = (call.rangeHash, tools.clock.now())
        shards.withHints(of: kind) { $0.note(kind, isShareable: false, isKept: true, now: now) }
    }
}
