import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Answers any request for any URL: from the cache when HTTP allows it, by reading along with a request that is under
/// way, or by asking the origin. What may be kept is kept, streamed to its client while it comes.
///
/// With no ttl from the caller it is a shared cache in the sense of RFC 9111; every decision of that kind is made by
/// `HTTPCaching`. Here is only who asks when, and where the bytes go.
///
/// Invariants, under a shard's lock: a flight is in `flights` of the shard of its URL from before it departs until its
/// answer is stored, or will not be. An answer can be found there by whom it is for before anybody gets it. The order
/// of locks is this one, then a flight's, then a call's; nobody holds two shards'.
public final class Gateway: Sendable {
    /// The longest head that is kept, in bytes of its stored form.
    static let headLimit = 64 << 10

    let tools: FetchFlight.Tools
    let group: GatewayGroup
    let shards = GatewayShards()
    let patience: Duration
    /// For what has to happen later, or on another thread; some of it waits for room on disk.
    let queue = DispatchQueue(label: "larder.gateway", attributes: .concurrent)

    /// How long a request waits for others, unless told: for the head of an answer that another one asked for, or for
    /// its turn.
    static let defaultPatience = Duration.seconds(10)

    /// - Parameters:
    ///   - group: those that ask through the same client.
    ///   - patience: how long a request waits for the head of an answer that another one asked for.
    init(tools: FetchFlight.Tools, group: GatewayGroup = GatewayGroup(), patience: Duration = defaultPatience) {
        self.tools = tools
        self.group = group
        self.patience = patience
    }

    deinit {
        group.heads.forget(tools.cache.configuration.namespace)
    }

    /// A client's place among those who wait.
    public struct Place: Sendable {
        let call: GatewayCall

        /// The client is gone. Nobody else is harmed, nor what can be kept.
        public func leave() {
            call.leave()
        }
    }

    /// Answers a request, at once or later.
    ///
    /// - Parameters:
    ///   - interim: gets 102 and 103 answers on their way.
    ///   - completion: gets the answer, once, on a thread that must not be kept waiting.
    @discardableResult
    public func fetch(
        _ request: GatewayRequest, interim: @escaping @Sendable (Int, HTTPFields) -> Void = { _, _ in },
        completion: @escaping @Sendable (Result<GatewayAnswer, GatewayError>) -> Void
    ) -> Place {
        let call = GatewayCall(request, interim: interim, completion: completion)
        dispatch(call)
        return Place(call: call)
    }

    // MARK: - The decision

    /// - Parameter mayWait: whether this thread may wait for the disk; if not, it goes on on another when it has to.
    func dispatch(_ call: GatewayCall, mayWait: Bool = false) {
        guard call.request.isCacheable else {
            call.reason = .method
            return send(call, held: nil)
        }
        guard let (held, anyOther, changes) = lookUp(call, mayWait: mayWait) else {
            return tools.cache.onDiskThread { self.dispatch(call, mayWait: true) }
        }
        let found = held ?? anyOther
        let decision = ReusePolicy.decide(
            call.cacheRequest, found?.head, expiry: found?.entry.expiryDate, coverage: found?.coverage,
            now: tools.clock.now())
        switch (decision, held) {
        case (.serve, let held?):
            if let newer = newerAnswer(for: call, insteadOf: held.head) {
                return call.join(newer, now: tools.clock.now())
            }
            serve(held, to: call, as: .hit)
        case (.serveStaleAndRevalidate, let held?):
            serve(held, to: call, as: .hit)
            refresh(held, for: call)
        case (.revalidate(let reason, _), let held?):
            call.reason = reason
            // HEAD brings no body, so a 304 to it would say nothing that its own answer does not.
            send(call, held: held, isValidating: call.request.method == .get, changes: changes)
        case (.fetch(let reason), _):
            call.reason = reason
            send(call, held: held, anyOther: anyOther, changes: changes)
        case (.refuse, _):
            call.fail(.notCached)
        case (.serve, nil), (.serveStaleAndRevalidate, nil), (.revalidate, nil):
            // Nothing was selected, so nothing else can be decided.
            send(call, held: nil)
        }
    }

    /// The caller has waited for an answer that is not for it. Others like it may be in the same place: one of them
    /// asks for all. That is tried twice, for what is known of the URL by then may be wrong again.
    func sendBack(_ call: GatewayCall) {
        call.wasSentBack() ? goAlone(call) : dispatch(call)
    }

    /// The caller has waited in vain: its request goes to the origin whatever else is under way.
    func goAlone(_ call: GatewayCall) {
        call.goAlone()
        dispatch(call)
    }

    /// The stored response that a request selects (RFC 9111 §4.1); when none is selected, any other of the URL; and
    /// what tells later whether that is still so. `nil` when it has to be read from the disk, and the caller may not
    /// wait for it.
    func lookUp(
        _ call: GatewayCall, mayWait: Bool
    ) -> (selected: HeldResponse?, anyOther: HeldResponse?, changes: ChangeMark)? {
        let changes = tools.cache.mark(ofResponsesTo: call.url)
        let found = Result { () throws(DiskCacheError) in
            try tools.cache.responses(to: call.url, mayWait: mayWait)
        }
        if case .success(nil) = found { return nil }
        let entries = (try? found.get()) ?? []
        let all = entries.compactMap { entry in
            group.heads.head(of: entry).map { HeldResponse(entry: entry, head: $0) }
        }
        let complete = all.filter { $0.head.part == nil }
        if let index = ReusePolicy.select(call.cacheRequest, from: complete.map(\.head)) {
            var selected = complete[index]
            selected.changes = changes
            selected.selectors = Set(complete.flatMap(\.head.selection.names)).sorted()
            return (selected, nil, changes)
        }
        let parts = all.filter { $0.head.part != nil && $0.head.isOpen(to: call.cacheRequest) }
        guard let index = ReusePolicy.select(call.cacheRequest, from: parts.map(\.head)) else {
            return (nil, all.first, changes)
        }
        return (HeldResponse(parts[index], with: parts), nil, changes)
    }

    // MARK: - Who asks the origin

    /// Waits for a request that is under way, or makes one.
    ///
    /// A leader looks into the cache once more after its flight is in the table, if anything has changed: between a
    /// miss and that moment another flight may have stored the answer and ended.
    ///
    /// - Parameters:
    ///   - held: what the request selects.
    ///   - anyOther: when it selects nothing: another response to the URL, which tells by what it varies.
    ///   - isValidating: whether to ask by the validators of what is held, which then is complete.
    ///   - changes: tells whether the cache still has what was found there; `nil`: nobody knows.
    func send(
        _ call: GatewayCall, held: HeldResponse?, anyOther: HeldResponse? = nil, isValidating: Bool = false,
        changes: ChangeMark? = nil
    ) {
        enum Role {
            case leads(FetchFlight)
            case waits(FetchFlight, isFirst: Bool)
            case reads(FetchFlight.Shared)
            case refused
        }
        let now = tools.clock.now()
        let url = call.request.url.string
        let kind = call.sharingHash
        let mayShare = call.mayWait && shards.withHints(of: kind) { $0.isShareable(kind, now: now) }
        let role: Role = shards.withState(of: call.url) { state in
            guard !state.isStopping else { return .refused }
            var known = (held ?? anyOther)?.head ?? state.flights.latestHead(ofURL: url)
            if mayShare {
                let flights = state.flights.candidates(for: call, knowing: known)
                // Of those that only have to be stored the latest first: nobody gets an older one after it.
                for flight in flights.reversed().filter(\.hasWholeAnswer) + flights {
                    switch flight.admit(call, knowing: known) {
                    case .waits(let number, let isFirst):
                        // Here, so that it comes before any flight that it is sent on to.
                        call.wait(for: flight, number: number)
                        return .waits(flight, isFirst: isFirst)
                    case .reads(let shared): return .reads(shared)
                    case .refused(let head): known = known ?? head
                    }
                }
            }
            let flight = FetchFlight(
                call, held: held, isValidating: isValidating, isShared: mayShare && call.request.method == .get,
                number: group.nextNumber(), gateway: self)
            state.flights.add(flight, refreshing: held?.entry.key, knowing: known)
            return .leads(flight)
        }
        switch role {
        case .refused: call.fail(.origin(.stopping))
        case .reads(let shared):
            tools.metrics.joins.increment()
            call.join(shared, now: now)
        case .waits(let flight, let isFirst):
            tools.metrics.joins.increment()
            if isFirst {
                queue.asyncAfter(deadline: .now() + patience.inSeconds) { [weak flight] in
                    flight?.releaseFollowers()
                }
            }
        case .leads(let flight):
            tools.metrics.misses.increment()
            call.wait(for: flight, number: 0)
            flight.reserve()
            depart(flight, held: held, looksAgain: flight.isShared && changes?.isCurrent != true)
        }
    }

    /// - Parameter mayWait: as in ``dispatch(_:mayWait:)``.
    private func depart(_ flight: FetchFlight, held: HeldResponse?, looksAgain: Bool, mayWait: Bool = false) {
        if looksAgain {
            guard let found = lookUp(flight.leader, mayWait: mayWait) else {
                return tools.cache.onDiskThread { self.depart(flight, held: held, looksAgain: true, mayWait: true) }
            }
            if let selected = found.selected, selected.entry.version != held?.entry.version { return flight.land() }
        }
        group.enter(flight)
        flight.depart()
        makeWay(for: flight)
    }
}
