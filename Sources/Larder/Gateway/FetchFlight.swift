import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// One request to an origin: for the client that caused it (the leader), and for clients that request the same URL
/// meanwhile (the followers).
///
/// Clients wait until the head of the answer arrives. Then the clients that may use this answer (RFC 9111 §4) read its
/// body while it arrives. The ``Gateway`` takes the other clients back and decides about each of them anew. The flight
/// continues without any client as long as its answer is kept.
///
/// A short body usually arrives together with its head. So the answer to a client may wait for such a body, while the
/// phase is still `waiting`. It waits only until the origin's thread has looked at all bytes that have arrived
/// (``originDidPause()``).
///
/// Invariants:
/// - One lock guards `state`. Actions follow after the lock is released, with three exceptions: under the lock, the
///   transfer gets its demands (``State/obey(_:)``), the reservation gets tags, and the cache learns that there is a
///   newer response (``note(_:)``).
/// - Phases only go forward, with a single exception: `confirming` goes back to `waiting` when the 304 does not confirm
///   the held response, or the held response was replaced meanwhile.
/// - A waiter is in the list or was answered, never both. The flight adds no waiter once the phase is `ended`.
/// - The origin's calls come in sequence, on one thread of the origin client. The cache's calls come on the thread of
///   the cache's writer.
/// - A flight's lock comes after the lock of its ``BodyFlow``, so no code calls the flow under the flight's lock.
final class FetchFlight: Sendable {
    /// The services that all flights of a namespace share.
    struct Tools: Sendable {
        let cache: DiskCache
        let origin: OriginClient
        let clock: any WallClock
        let metrics: ServiceMetrics
        var options = NamespaceOptions()
    }

    /// A client that waits for the head.
    struct Waiter: Sendable {
        let number: UInt64
        let call: GatewayCall
        /// Whether the client of another call caused the flight.
        let isFollower: Bool
    }

    /// An answer that several clients may share.
    final class Shared: Sendable {
        let head: StoredResponse
        /// The key of the future entry.
        let key: String
        let flow: BodyFlow
        /// The length of the body, in bytes; `nil` when the origin did not state it.
        let length: Int64?

        init(head: StoredResponse, key: String, flow: BodyFlow, length: Int64?) {
            self.head = head
            self.key = key
            self.flow = flow
            self.length = length
        }

        /// The same answer with other fields, for a single client.
        func with(_ fields: HTTPFields) -> Shared {
            var head = head
            head.fields = fields
            return Shared(head: head, key: key, flow: flow, length: length)
        }
    }

    /// The result of ``FetchFlight/admit(_:knowing:)`` for a call that comes while the flight is under way.
    enum Admission {
        case waits(number: UInt64, isFirst: Bool)
        case reads(Shared)
        /// The call must go elsewhere. Carries the head of the answer if the head has arrived and may be shared,
        /// because it names the fields by which answers to the URL vary.
        case refused(StoredResponse?)
    }

    /// An answer that no client has yet.
    struct Unsent {
        let answer: OriginAnswer
        let head: OriginHead
        /// The reason for not keeping the answer; `nil` when it is kept.
        let pass: PassReason?
    }

    enum Phase {
        case waiting
        /// A 304 confirmed the held response, and the new head is being stored.
        case confirming
        /// The head has arrived. `nil`: no other client may use this answer.
        case answered(Shared?)
        case ended
    }

    struct State {
        var phase = Phase.waiting
        var waiters: [Waiter] = []
        var nextNumber: UInt64 = 1
        var transfer: OriginTransfer?
        /// The last demand to the transfer. The transfer may not exist yet.
        var demand: BodyFlow.Demand?
        var reservation: Reservation?
        /// The tags of the future entry: those of all calls so far.
        var tags: Set<String>
        var held: HeldResponse?
        /// Whether the request to the origin carries the validators of `held`.
        var isValidating = false
        var head: OriginHead?
        var flow: BodyFlow?
        var stored: StoredResponse?
        var requestedAt: Timestamp
        /// Whether no further call may wait for the head.
        var isPatienceOver = false
        /// The end of the transfer, if the transfer ended before `flow` existed.
        var end: Result<OriginSummary, OriginError>?
        /// The answer, when it is known and no client has it yet, because its body is about to arrive and goes with it.
        var unsent: Unsent?
        /// See ``FetchFlight/noteWholeAnswer()``.
        var isWholeNoted = false
        /// The bytes of the body that arrived before `flow` existed.
        var early: [UInt8] = []

        /// Gives the transfer a demand, now or as soon as the transfer exists. The caller holds the lock, so the
        /// transfer gets its demands in order. After `cancel` the stored demand stays `cancel`.
        mutating func obey(_ demand: BodyFlow.Demand) {
            if self.demand != .cancel { self.demand = demand }
            transfer?.obey(demand)
        }
    }

    let leader: GatewayCall
    /// Whether other calls may wait for the head of this answer.
    let isShared: Bool
    /// A later flight has a higher number, across all namespaces.
    let number: UInt64
    let tools: Tools
    let gateway: Gateway
    let state: Locked<State>

    /// Creates a flight that has not departed. `leader` is its first waiter, with number 0.
    init(
        _ leader: GatewayCall, held: HeldResponse?, isValidating: Bool, isShared: Bool, number: UInt64,
        gateway: Gateway
    ) {
        self.leader = leader
        self.isShared = isShared
        self.number = number
        self.gateway = gateway
        tools = gateway.tools
        var state = State(tags: leader.request.tags, requestedAt: gateway.tools.clock.now())
        (state.held, state.isValidating) = (held, isValidating)
        state.waiters = [Waiter(number: 0, call: leader, isFollower: false)]
        self.state = Locked(state)
    }

    /// The requested URL.
    var url: String { leader.request.url.string }

    /// The authority of the origin.
    var authority: String { leader.request.url.authority }

    // MARK: - Ending from outside

    /// Cancels the transfer, which ends the flight. Before the head arrives, the leader gets an error, and the gateway
    /// takes the followers back.
    func cancel() {
        obey(.cancel)
    }

    /// Passes a demand of the readers of the body to the transfer.
    func obey(_ demand: BodyFlow.Demand) {
        state.withLock { $0.obey(demand) }
    }

    /// Whether the answer may be kept, as far as the request tells; the head of the answer decides.
    var isKeepable: Bool {
        (leader.request.method == .get && leader.request.isCacheable) || leader.request.method == .post
    }

    // MARK: - Departure

    /// Registers the store that may follow, so that the cache notices a purge from now on.
    ///
    /// A call may join before the reservation exists. Its tags are added under the lock, as soon as there is a
    /// reservation.
    func reserve() {
        guard isKeepable else { return }
        let tags = state.withLock(\.tags)
        let reservation = tools.cache.reserve(responseTo: leader.url, tags: tags.sorted())
        state.withLock { state in
            state.reservation = reservation
            reservation.addTags(state.tags.subtracting(tags).sorted())
        }
    }

    /// Sends the request to the origin.
    func depart() {
        let held = state.withLock { state in
            state.requestedAt = tools.clock.now()
            return state.isValidating ? state.held : nil
        }
        // The request target carries the path and the query. So all requests to one site have the same URL, and the
        // client parses it only once.
        var request = OriginRequest(url: leader.request.url.site + "/")
        request.method = leader.request.method
        request.requestTarget = leader.request.url.target
        request.fields = leader.originFields(validating: held?.head, isShared: isShared)
        request.addsDefaultFields = false
        request.decodesContent = false
        request.followsRedirects = false
        request.body = leader.request.upload?.pipe
        request.addressPolicy = tools.options.addressPolicy
        let transfer = tools.origin.fetch(request, receiver: self)
        let isForNobody = state.withLock { state in
            state.transfer = transfer
            if let demand = state.demand { transfer.obey(demand) }
            guard case .waiting = state.phase else { return false }
            return state.waiters.isEmpty
        }
        // All clients left before the transfer existed, so ``leave(_:)`` could not cancel the transfer.
        if isForNobody { transfer.cancelIfWaiting() }
    }
}

extension OriginTransfer {
    fileprivate func obey(_ demand: BodyFlow.Demand) {
        switch demand {
        case .pause: pause()
        case .resume: resume()
        case .cancel: cancel()
        }
    }
}
