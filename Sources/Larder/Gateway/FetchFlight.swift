import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// One request to an origin, on behalf of the client that caused it and of those who ask for the same meanwhile.
///
/// Until the head of the answer is there, clients wait for it. Then those who may have this answer (RFC 9111 §4) read
/// its body along while it comes; the others are sent back to the ``Gateway``, to be on their own. As long as the
/// answer is kept, the flight goes on without any client.
///
/// A short body mostly comes with its head. So the answer to a client may wait for it, in the phase `waiting` still,
/// but no longer than its origin's thread looks at what there is.
///
/// Invariants: `state` is under one lock, and acted upon after; only the transfer is told under it what to do, and the
/// cache that there is something newer. Phases
/// only go forward, but when a 304 confirms what is not held. A waiter is in the list or was answered, never both;
/// nobody is added once the phase is `ended`. The origin's calls come one after another on one of its client's threads,
/// the cache's on its writer's.
final class FetchFlight: Sendable {
    /// What all flights work with.
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
        /// Whether somebody else caused the flight.
        let isFollower: Bool
    }

    /// What an answer that may be shared consists of.
    final class Shared: Sendable {
        let head: StoredResponse
        /// The key of the entry to be.
        let key: String
        let flow: BodyFlow
        /// The length of the body; `nil` when the origin did not state it.
        let length: Int64?

        init(head: StoredResponse, key: String, flow: BodyFlow, length: Int64?) {
            self.head = head
            self.key = key
            self.flow = flow
            self.length = length
        }

        /// The same with other fields, for one client alone.
        func with(_ fields: HTTPFields) -> Shared {
            var head = head
            head.fields = fields
            return Shared(head: head, key: key, flow: flow, length: length)
        }
    }

    /// What becomes of somebody who asks while the flight is under way.
    enum Admission {
        case waits(number: UInt64, isFirst: Bool)
        case reads(Shared)
        /// The head of the answer, when it is there and may be shared, tells by what answers to the URL vary.
        case refused(StoredResponse?)
    }

    /// An answer that nobody has yet.
    struct Unsent {
        let answer: OriginAnswer
        let head: OriginHead
        /// Why it is not kept.
        let pass: PassReason?
    }

    enum Phase {
        case waiting
        /// A 304 said that what is held is still right; the new head is being stored.
        case confirming
        /// The head is there; `nil`: nobody else may have this answer.
        case answered(Shared?)
        case ended
    }

    struct State {
        var phase = Phase.waiting
        var waiters: [Waiter] = []
        var nextNumber: UInt64 = 1
        var transfer: OriginTransfer?
        /// What is wanted of the transfer, which may not be at hand yet.
        var demand: BodyFlow.Demand?
        var reservation: Reservation?
        /// Those that the entry is to have, of all who asked.
        var tags: Set<String>
        var held: HeldResponse?
        /// Whether the origin was asked by the validators of what is held.
        var isValidating = false
        var head: OriginHead?
        var flow: BodyFlow?
        var stored: StoredResponse?
        var requestedAt: Timestamp
        /// Whether nobody may wait for its head any more.
        var isPatienceOver = false
        /// How the transfer ended, when it did before it was known where its body goes.
        var end: Result<OriginSummary, OriginError>?
        /// The answer, when it is known and nobody has it yet: its body is about to be there, and goes with it.
        var unsent: Unsent?
        /// See ``FetchFlight/noteWholeAnswer()``.
        var isWholeNoted = false
        /// What came of the body before it was known where it goes.
        var early: [UInt8] = []

        /// Tells the transfer what is wanted of it, now or as soon as it is at hand. Under the lock, so that it comes
        /// in order.
        mutating func obey(_ demand: BodyFlow.Demand) {
            if self.demand != .cancel { self.demand = demand }
            transfer?.obey(demand)
        }
    }

    let leader: GatewayCall
    /// Whether others may wait for the head of this answer.
    let isShared: Bool
    /// Those of later flights are higher, in all namespaces.
    let number: UInt64
    let tools: Tools
    let gateway: Gateway
    let state: Locked<State>

    /// A flight that has not departed; `leader` is its first waiter.
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

    /// The URL that is asked for.
    var url: String { leader.request.url.string }

    /// Whom it asks.
    var authority: String { leader.request.url.authority }

    // MARK: - Its end from outside

    /// Ends the flight, with an error for whoever waits.
    func cancel() {
        obey(.cancel)
    }

    /// Does what the readers of the body want.
    func obey(_ demand: BodyFlow.Demand) {
        state.withLock { $0.obey(demand) }
    }

    /// Whether its answer may be one that is kept, which its head will tell.
    var isKeepable: Bool {
        (leader.request.method == .get && leader.request.isCacheable) || leader.request.method == .post
    }

    // MARK: - Departure

    /// Notes that something may be stored, so that a purge from now on is noticed.
    func reserve() {
        guard isKeepable else { return }
        let tags = state.withLock(\.tags)
        let reservation = tools.cache.reserve(responseTo: leader.url, tags: tags.sorted())
        state.withLock { state in
            state.reservation = reservation
            reservation.addTags(state.tags.subtracting(tags).sorted())
        }
    }

    /// Asks the origin.
    func depart() {
        let held = state.withLock { state in
            state.requestedAt = tools.clock.now()
            return state.isValidating ? state.held : nil
        }
        // The target says the rest. So requests to one site have one URL, which is read but once.
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
        // Its client left before there was a transfer to be told of it.
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
