import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Answers any request for any URL: from the cache when HTTP allows it, with an answer that another request is just
/// receiving, or by asking the origin. Stores answers that may be kept, and streams all answers while they arrive.
///
/// Without a caller's ttl, the gateway is a shared cache in the sense of RFC 9111. `HTTPCaching` makes every decision
/// of that RFC. The gateway itself only decides which call asks the origin and when, and moves the bytes.
///
/// Invariants:
/// - A fetch enters `fetches`, under the lock of its URL's shard, before it asks the origin. It leaves when its answer
///   is stored, or will certainly not be stored.
/// - An answer is published in the table, for the calls that may use it, before it is delivered to any client.
/// - The order of locks is: a shard's lock, then a body flow's, then a fetch's, then a call's. No thread holds the
///   locks of two shards.
package final class Gateway: Sendable {
    /// The longest head that is kept, in bytes of its stored form.
    static let headLimit = 64 << 10

    let tools: FetchTools
    let group: GatewayGroup
    /// All fetches of one URL are in one shard, so requests for different URLs hardly ever wait for each other.
    let shards = Sharded { Shard() }
    /// Sharded by the hashes of requests, and not by URL as `shards`, because one URL may have many different hashes.
    let hints = Sharded { SharingHints() }
    let patience: Duration
    /// Runs work later, or on another thread than the caller's. Some of this work waits for room on disk.
    let queue = DispatchQueue(label: "larder.gateway", attributes: .concurrent)

    /// The longest wait of a request for the head of another request's answer, or in the origin client's queue.
    static let defaultPatience = Duration.seconds(10)

    struct Shard {
        var fetches = GatewayFetchTable()
        var isStopping = false
    }

    func shard(of url: ResponseURL) -> Sharded<Shard>.Shard { shards[Int(url.spread)] }

    /// All gateways of a group use the same origin client.
    init(tools: FetchTools, group: GatewayGroup = GatewayGroup(), patience: Duration = defaultPatience) {
        self.tools = tools
        self.group = group
        self.patience = patience
    }

    deinit {
        group.heads.forget(tools.cache.configuration.namespace)
    }

    /// Answers a request, at once or later. `interim` gets 102 and 103 responses as they arrive. `completion` gets the
    /// answer, once, on a thread that it must not block. If the client leaves, use ``GatewayCall/leave()``.
    @discardableResult
    package func fetch(
        _ request: GatewayRequest, interim: @escaping @Sendable (Int, HTTPFields) -> Void = { _, _ in },
        completion: @escaping @Sendable (Result<GatewayAnswer, GatewayError>) -> Void
    ) -> GatewayCall {
        let call = GatewayCall(request, interim: interim, completion: completion)
        dispatch(call)
        return call
    }

    func dispatch(_ call: GatewayCall) {
        guard call.request.isCacheable else {
            call.reason = .method
            return send(call, held: nil)
        }
        lookUp(call) { [self] found in decide(call, found) }
    }

    private func decide(_ call: GatewayCall, _ found: Found) {
        let (held, anyOther, changes) = (found.selected, found.anyOther, found.changes)
        let found = held ?? anyOther
        let decision = ReusePolicy.decide(
            call.cacheRequest, found?.head, expiry: found?.entry.expiryDate, coverage: found?.coverage,
            now: tools.clock.now())
        switch (decision, held) {
        case (.serve, let held?), (.serveStaleAndRevalidate, let held?):
            if let newer = newerAnswer(for: call, insteadOf: held.head) {
                return call.join(newer, now: tools.clock.now())
            }
            serve(held, to: call, as: .hit)
            if case .serveStaleAndRevalidate = decision { refresh(held, for: call) }
        case (.revalidate(let reason, _), let held?):
            call.reason = reason
            // A 304 to HEAD would say no more than the answer to HEAD, because neither has a body.
            send(call, held: held, isValidating: call.request.method == .get, changes: changes)
        case (.fetch(let reason), _):
            call.reason = reason
            send(call, held: held, anyOther: anyOther, changes: changes)
        case (.refuse, _):
            refuse(call)
        case (.serve, nil), (.serveStaleAndRevalidate, nil), (.revalidate, nil):
            // No response was selected, so only the origin can answer.
            send(call, held: nil)
        }
    }

    /// Refuses a call that may not ask the origin. But an answer that arrived whole counts as stored: the call reads
    /// it, or waits until it is stored. Before the refusal, looks for an answer that was stored since the last look-up.
    private func refuse(_ call: GatewayCall) {
        if let newer = newerAnswer(for: call, insteadOf: nil) { return call.join(newer, now: tools.clock.now()) }
        guard !call.wasSentBack() else { return call.fail(.notCached) }
        if !visibleFetches(of: call).contains(where: { $0.awaitStoring(call) }) { dispatch(call) }
    }

    /// Decides anew about a call that waited for an answer that it may not use. Of several such calls, one asks the
    /// origin. The third time, the call waits for no other call, because the `Vary` of an earlier answer may mislead.
    func sendBack(_ call: GatewayCall) {
        call.wasSentBack() ? goAlone(call) : dispatch(call)
    }

    /// Sends a call to the origin after it waited in vain, regardless of the fetches that are under way.
    func goAlone(_ call: GatewayCall) {
        call.goAlone()
        dispatch(call)
    }

    struct Found {
        /// The response that the request selects (RFC 9111 §4.1).
        var selected: HeldResponse?
        /// Any other response to the URL when none is selected. Its Vary tells by which fields the answers vary.
        var anyOther: HeldResponse?
        /// Tells whether the result is still current.
        let changes: ChangeMark
    }

    /// Looks for the stored responses to a call's URL. An error of the index counts as no response, so that the origin
    /// is asked.
    func lookUp(_ call: GatewayCall, then: @escaping @Sendable (Found) -> Void) {
        let changes = tools.cache.mark(ofResponsesTo: call.url)
        tools.cache.findResponses(to: call.url) { [self] entries in
            then(select(from: (try? entries.get()) ?? [], for: call, changes))
        }
    }

    private func select(from entries: [Entry], for call: GatewayCall, _ changes: ChangeMark) -> Found {
        let all = entries.compactMap { entry in
            group.heads.head(of: entry).map { HeldResponse(entry: entry, head: $0) }
        }
        let complete = all.filter { $0.head.part == nil }
        if let index = ReusePolicy.select(call.cacheRequest, from: complete.map(\.head)) {
            var selected = complete[index]
            selected.changes = changes
            selected.selectors = Set(complete.flatMap(\.head.selection.names)).sorted()
            return Found(selected: selected, changes: changes)
        }
        let parts = all.filter { $0.head.part != nil && $0.head.isOpen(to: call.cacheRequest) }
        guard let index = ReusePolicy.select(call.cacheRequest, from: parts.map(\.head)) else {
            return Found(anyOther: all.first, changes: changes)
        }
        return Found(selected: HeldResponse(parts[index], with: parts), changes: changes)
    }

    /// Makes a call wait for a fetch that is under way, read its answer, or start a new fetch.
    ///
    /// A new fetch looks into the cache once more when it is in the table, if the cache has changed since the first
    /// look. The second look prevents this race: after the first look, which was a miss, and before the new fetch was
    /// in the table, another fetch may have stored the answer and ended. `held` and `anyOther` are as in ``Found``.
    /// `isValidating`: whether the origin gets the validators of `held`, the response to revalidate. `changes` tells
    /// whether the cache still holds the found responses; `nil`: unknown.
    func send(
        _ call: GatewayCall, held: HeldResponse?, anyOther: HeldResponse? = nil, isValidating: Bool = false,
        changes: ChangeMark? = nil
    ) {
        enum Role {
            case leads(GatewayFetch)
            case waits(GatewayFetch, isFirst: Bool)
            case reads(SharedAnswer, BodyFlow.Newcomer)
            case refused
        }
        let now = tools.clock.now()
        let url = call.request.url.string
        let kind = call.sharingHash(isValidating: isValidating)
        let (isShareable, isKeepExpected) = hints[kind].withLock {
            ($0.isShareable(kind, now: now), $0.isKeepExpected(kind, now: now))
        }
        let mayShare = call.mayWait && isShareable
        // A request that validates asks for the whole body, so it would not bring a range sooner.
        let mayAskForRange =
            !isValidating && call.request.fields.contains(.range) && servesRanges(of: call, now: now)
        let role: Role = shard(of: call.url).withLock { state in
            guard !state.isStopping else { return .refused }
            var known = (held ?? anyOther)?.head ?? state.fetches.latestHead(ofURL: url)
            if mayShare {
                let fetches = state.fetches.candidates(for: call, knowing: known)
                // First tries the fetches with a whole answer, the latest first, so that no call gets an older answer
                // after a newer one.
                for fetch in fetches.reversed().filter(\.hasWholeAnswer) + fetches {
                    let number = group.nextNumber()
                    switch fetch.admit(call, number: number, knowing: known, mayAskForRange: mayAskForRange) {
                    case .waits(let isFirst):
                        // The fetch may send the call back at once. The call can then join another fetch only under
                        // the shard's lock. This line runs under the lock, too, so `call` notes the other fetch last.
                        call.wait(for: fetch, number: number)
                        return .waits(fetch, isFirst: isFirst)
                    case .reads(let shared, let newcomer): return .reads(shared, newcomer)
                    case .refused(let head): known = known ?? head
                    }
                }
            }
            let fetch = GatewayPolicy.makeFetch(
                for: call, held: held, isValidating: isValidating, isShared: mayShare && call.request.method == .get,
                isKeepExpected: isKeepExpected, gateway: self)
            state.fetches.add(fetch, refreshing: held?.entry.key, knowing: known)
            return .leads(fetch)
        }
        switch role {
        case .refused: call.fail(.origin(.stopping))
        case .reads(let shared, let newcomer):
            tools.metrics.joins.increment()
            withExtendedLifetime(newcomer) { call.join(shared, now: now) }
        case .waits(let fetch, let isFirst):
            tools.metrics.joins.increment()
            if isFirst {
                queue.asyncAfter(deadline: .now() + patience.inSeconds) { [weak fetch] in
                    fetch?.handle(.patienceEnded)
                }
            }
        case .leads(let fetch):
            tools.metrics.misses.increment()
            call.wait(for: fetch, number: 0)
            group.enter(fetch)
            fetch.start(looksAgain: fetch.policy.isShared && changes?.isCurrent != true)
        }
    }

    /// Whether the origin is expected to serve ranges of the call's URL: no recent answer shows that it ignores ranges.
    private func servesRanges(of call: GatewayCall, now: Timestamp) -> Bool {
        hints[call.rangeHash].withLock { $0.isShareable(call.rangeHash, now: now) }
    }
}
