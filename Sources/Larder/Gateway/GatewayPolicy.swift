import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// One request to an origin for `/fetch`: for the client that caused it (the leader), and for clients that request the
/// same URL while it runs (the followers).
typealias GatewayFetch = Fetch<GatewayPolicy>

/// The policy of `/fetch`: several fetches of one URL may run, clients get the answer with its head, and HTTP decides
/// whether an answer is kept and which clients may have it.
///
/// Clients wait until the head of the answer arrives. Then the clients that may use this answer (RFC 9111 §4) read its
/// body while it arrives. The ``Gateway`` takes the other clients back and decides about each of them anew.
///
/// A short body usually arrives together with its head. So the answer to a client may wait for such a body, until the
/// origin's thread has looked at all bytes that have arrived (``didPause(for:)``).
///
/// A fetch's lock comes after the lock of its ``BodyFlow``, so no code calls the flow under the fetch's lock.
struct GatewayPolicy: FetchPolicy {
    typealias Caller = GatewayCall

    struct Notes: Sendable {
        /// The tags of all calls so far, for the future entry.
        var tags: Set<String>
        var held: HeldResponse?
        /// Whether the request to the origin carries the validators of `held`.
        var isValidating: Bool
        var requestedAt: Timestamp
        var flow: BodyFlow?
        /// The response to store; `nil` when the answer is not kept.
        var stored: StoredResponse?
        /// The answer, once its head is known.
        var arrived: ArrivedAnswer?
        /// Whether `arrived` goes to the clients together with a body that is about to arrive.
        var isUnsent = false
        /// The answer for clients that come from now on; `nil` when no other client may use it.
        var shared: SharedAnswer?
        /// See ``GatewayFetch/noteWholeAnswer()``.
        var isWholeNoted = false
        /// The calls about which the gateway decides anew when the fetch has ended.
        var awaitsStoring: [GatewayCall] = []
        /// The followers that waited until the time limit. They get the first answer or failure of any fetch.
        var released: [GatewayCall] = []
        /// Another fetch that has an answer for the waiters of this fetch.
        var overtaker: GatewayFetch?
        /// The bytes of the body that arrived before `flow` existed.
        var early: [UInt8] = []
    }

    let leader: GatewayCall
    let number: UInt64
    let gateway: Gateway
    let rules: FetchRules

    /// `isShared`: whether other calls may wait for the head of this answer. `isKeepExpected`: whether this answer is
    /// expected to be kept, judging by earlier answers.
    static func makeFetch(
        for leader: GatewayCall, held: HeldResponse?, isValidating: Bool, isShared: Bool, isKeepExpected: Bool,
        gateway: Gateway
    ) -> GatewayFetch {
        // A range from the middle, such as after a seek in a video, is not worth fetching when its client has left.
        let mayBeKept = leader.request.isCacheable && leader.isKeepable && leader.asksForBeginning
        let policy = GatewayPolicy(
            leader: leader, number: gateway.group.nextNumber(), gateway: gateway,
            rules: FetchRules(
                deliversAtHead: true, isShared: isShared, queuesLateCallers: false,
                outlivesCallers: isKeepExpected && mayBeKept && !ReusePolicy.forbidsStoring(leader.cacheRequest)))
        let notes = Notes(
            tags: leader.request.tags, held: held, isValidating: isValidating, requestedAt: gateway.tools.clock.now())
        return Fetch(policy, FetchMachine(policy.rules, leader: leader), notes: notes, tools: gateway.tools)
    }

    var isShared: Bool { rules.isShared }

    /// A call may join before the reservation exists. The tags of such a call are added under the lock, afterwards.
    func reserve(for fetch: GatewayFetch) {
        guard leader.isKeepable else { return }
        let tags = fetch.state.withLock(\.notes.tags)
        let reservation = fetch.tools.cache.reserve(responseTo: leader.url, tags: tags.sorted())
        fetch.state.withLock { state in
            state.reservation = reservation
            reservation.addTags(state.notes.tags.subtracting(tags).sorted())
        }
    }

    func lookAgain(for fetch: GatewayFetch, completion: @escaping @Sendable (Bool) -> Void) {
        let known = fetch.state.withLock(\.notes.held?.entry.version)
        gateway.lookUp(leader) { found in
            completion(found.selected.map { $0.entry.version != known } ?? false)
        }
    }

    func forgetHeld(for fetch: GatewayFetch) {
        fetch.state.withLock { state in
            (state.notes.held, state.notes.isValidating) = (nil, false)
        }
    }

    func makeRequest(for fetch: GatewayFetch) -> OriginRequest {
        let held = fetch.state.withLock { state in
            state.notes.requestedAt = gateway.tools.clock.now()
            return state.notes.isValidating ? state.notes.held : nil
        }
        // The request target has path and query, so the origin client parses the URL of a site only once.
        var request = OriginRequest(url: leader.request.url.site + "/")
        request.method = leader.request.method
        request.requestTarget = leader.request.url.target
        request.fields = leader.originFields(validating: held?.head, isShared: isShared)
        request.addsDefaultFields = false
        request.decodesContent = false
        request.followsRedirects = false
        request.body = leader.request.upload
        request.addressPolicy = gateway.tools.options.addressPolicy
        return request
    }

    func didAsk(for fetch: GatewayFetch) {
        gateway.makeWay(for: fetch)
    }

    func didAnswerInterim(_ head: OriginHead, for fetch: GatewayFetch) {
        // Only the leader gets an interim head, because it is not known yet whether followers may use the answer.
        leader.interim(head.status, head.fields.endToEnd())
    }

    func judge(_ head: OriginHead, for fetch: GatewayFetch) -> GatewayFetch.Event? {
        let (held, isValidating, requestedAt) = fetch.state.withLock {
            ($0.notes.held, $0.notes.isValidating, $0.notes.requestedAt)
        }
        let answer = OriginAnswer(
            status: head.status, fields: head.fields.endToEnd(), requestedAt: requestedAt,
            receivedAt: fetch.tools.clock.now())
        if let held {
            if isValidating, head.status == 304 { return .confirmed }
            if head.status >= 500,
                leader.mayHaveStale(held, onError: .status(head.status), now: fetch.tools.clock.now())
            {
                return .failedOver
            }
            if leader.request.method == .head { gateway.compare(held, with: answer, answer.with(head.fields), leader) }
        }
        fetch.state.withLock { $0.notes.arrived = ArrivedAnswer(answer: answer, head: head) }
        if !invalidatedURLs(by: answer).isEmpty { return .invalidates }
        begin(fetch, isOnItsWay: true)
        return nil
    }

    private func invalidatedURLs(by answer: OriginAnswer) -> [String] {
        Invalidation.urls(method: leader.request.method, url: leader.request.url.string, answer: answer)
    }

    /// The invalidation is done before any client sees the answer, so a later request gets no older response.
    func invalidate(for fetch: GatewayFetch) {
        let (arrived, reservation) = fetch.state.withLock { ($0.notes.arrived, $0.reservation) }
        guard let answer = arrived?.answer else { return }
        let groups = CacheGroups(invalidatedBy: answer.fields, method: leader.request.method)
        // A purge by another caller keeps the answer from being stored; the answer's own invalidation must not.
        gateway.invalidate(invalidatedURLs(by: answer), groups, of: leader.request.url, sparing: reservation) {
            // Leaves the writer's thread, because storing the early bytes may have to wait for the writer.
            gateway.queue.async { begin(fetch) }
        }
    }
}
