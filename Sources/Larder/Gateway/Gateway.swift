import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Answers any request for any URL: from the cache when HTTP allows it, by reading the body of a request that is under
/// way, or by asking the origin. Answers that may be kept are stored, and streamed to their clients while they arrive.
///
/// Without a caller's ttl, the gateway is a shared cache in the sense of RFC 9111. `HTTPCaching` makes every decision
/// of that kind. The gateway itself only decides which call asks the origin and when, and moves the bytes.
///
/// Invariants:
/// - Under the lock of its URL's shard, a flight is in `flights` from before its departure until its answer is stored,
///   or is known not to be stored.
/// - An answer is published in the table, for the calls that may use it, before it is delivered to any client.
/// - The order of locks is: a shard's lock, then a body flow's, then a flight's, then a call's. No thread holds the
///   locks of two shards.
package final class Gateway: Sendable {
    /// The longest head that is kept, in bytes of its stored form.
    static let headLimit = 64 << 10

    let tools: FetchFlight.Tools
    let group: GatewayGroup
    let shards = GatewayShards()
    let patience: Duration
    /// Runs delayed work and work for another thread. Some of this work waits for room on disk.
    let queue = DispatchQueue(label: "larder.gateway", attributes: .concurrent)

    /// The default of the time that a request waits for other requests: for the head of an answer that another request
    /// asked for, or for its turn.
    static let defaultPatience = Duration.seconds(10)

    /// - Parameters:
    ///   - group: the gateways that use the same origin client.
    ///   - patience: the time that a request waits for the head of an answer that another request asked for.
    init(tools: FetchFlight.Tools, group: GatewayGroup = GatewayGroup(), patience: Duration = defaultPatience) {
        self.tools = tools
        self.group = group
        self.patience = patience
    }

    deinit {
        group.heads.forget(tools.cache.configuration.namespace)
    }

    /// The position of a client that waits for its answer.
    package struct Place: Sendable {
        let call: GatewayCall

        /// Notes that the client has left. Its leaving harms neither other clients nor an answer that can be kept.
        package func leave() {
            call.leave()
        }
    }

    /// Answers a request, at once or later.
    ///
    /// - Parameters:
    ///   - interim: gets 102 and 103 responses as they arrive.
    ///   - completion: gets the answer, once, on a thread that it must not block.
    @discardableResult
    package func fetch(
        _ request: GatewayRequest, interim: @escaping @Sendable (Int, HTTPFields) -> Void = { _, _ in },
        completion: @escaping @Sendable (Result<GatewayAnswer, GatewayError>) -> Void
    ) -> Place {
        let call = GatewayCall(request, interim: interim, completion: completion)
        dispatch(call)
        return Place(call: call)
    }

    // MARK: - The decision

    /// Decides how to answer a call.
    ///
    /// - Parameter mayWait: whether this thread may wait for the disk. If not, and the disk is needed, the decision
    ///   continues on another thread.
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
            // A 304 to HEAD would say no more than the answer to HEAD, because neither has a body.
            send(call, held: held, isValidating: call.request.method == .get, changes: changes)
        case (.fetch(let reason), _):
            call.reason = reason
            send(call, held: held, anyOther: anyOther, changes: changes)
        case (.refuse, _):
            call.fail(.notCached)
        case (.serve, nil), (.serveStaleAndRevalidate, nil), (.revalidate, nil):
            // No response was selected, so only the origin can answer.
            send(call, held: nil)
        }
    }

    /// Decides anew about a call that waited for an answer it may not use. Other calls like it may have waited for the
    /// same answer, and one of them then asks the origin for all. That is tried twice. Then the call goes alone,
    /// because the knowledge of the URL's fields of Vary may be wrong again.
    func sendBack(_ call: GatewayCall) {
        call.wasSentBack() ? goAlone(call) : dispatch(call)
    }

    /// Sends a call to the origin after it waited in vain, regardless of the flights that are under way.
    func goAlone(_ call: GatewayCall) {
        call.goAlone()
        dispatch(call)
    }

    /// Looks for the stored response that a request selects (RFC 9111 §4.1).
    ///
    /// Returns that response; any other response to the URL when none is selected; and a mark that tells later whether
    /// the result is still current. Returns `nil` when the responses must be read from the disk and the caller may not
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

    // MARK: - Asking the origin

    /// Makes a call wait for a flight that is under way, read its answer, or lead a new flight.
    ///
    /// A leader looks into the cache once more after its flight is in the table, if the cache has changed since the
    /// first look. The race that this prevents: between the first look, a miss, and the entry into the table, another
    /// flight may have stored the answer and ended.
    ///
    /// - Parameters:
    ///   - held: the response that the request selects.
    ///   - anyOther: another response to the URL, when the request selects none. It tells by which fields the answers
    ///     vary.
    ///   - isValidating: whether to send the validators of `held`, which then is complete.
    ///   - changes: tells whether the cache still holds the found responses; `nil`: unknown.
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
                // Among the whole answers that only have to be stored, the latest comes first, so that no call gets an
                // older answer after it.
                for flight in flights.reversed().filter(\.hasWholeAnswer) + flights {
                    switch flight.admit(call, knowing: known) {
                    case .waits(let number, let isFirst):
                        // The call notes its flight under the shard's lock. The flight may send the call back at once,
                        // but the call needs the same lock to reach its next flight. So it notes the two flights in the
                        // right order.
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

    /// Lets a flight depart, unless the cache has the answer by now.
    ///
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
