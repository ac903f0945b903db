import DiskCache
import HTTPTypes
import Origin
import Primitives

/// The services that all fetches of a namespace share.
struct FetchTools: Sendable {
    let cache: DiskCache
    let origin: OriginClient
    let clock: any WallClock
    let metrics: ServiceMetrics
    var options = NamespaceOptions()
    var pending = PendingKeys()
    var pauses = HostPauses()
}

/// Gets one answer from an origin, for all callers that wait for it, and stores it. Performs the actions of a
/// ``FetchMachine``. The differences between `/download` and `/fetch` are in a ``FetchPolicy``.
///
/// Invariants:
/// - One lock guards `state`. Actions follow after the lock is released, with three exceptions: under the lock, the
///   transfer gets its demands (``State/obey(_:)``), the reservation gets tags, and the cache learns that there is a
///   newer response.
/// - The origin client calls the fetch in sequence, on a thread of the client. The cache calls the fetch on the
///   writer's thread. Callers call it on any thread.
/// - Several threads may perform the actions of different events at the same time. A ``TransferDemand`` may therefore
///   come before the transfer exists; `demand` keeps it.
final class Fetch<Policy: FetchPolicy>: OriginReceiver, Sendable {
    typealias Machine = FetchMachine<Policy.Caller>
    typealias Waiter = Machine.Waiter
    typealias Event = Machine.Event
    typealias Outcome = Machine.Outcome

    struct State {
        var machine: Machine
        var transfer: OriginTransfer?
        /// The last demand to the transfer. The transfer may not exist yet.
        var demand: TransferDemand?
        var asks = 0
        var reservation: Reservation?
        var head: OriginHead?
        var summary: OriginSummary?
        var notes: Policy.Notes

        /// Gives the transfer a demand, now or as soon as the transfer exists. The caller holds the lock, so the
        /// transfer gets its demands in order. After `cancel` the stored demand stays `cancel`.
        mutating func obey(_ demand: TransferDemand) {
            if self.demand != .cancel { self.demand = demand }
            transfer?.obey(demand)
        }
    }

    let policy: Policy
    let tools: FetchTools
    let state: Locked<State>

    /// Creates a fetch that has not started.
    init(_ policy: Policy, _ machine: Machine, notes: Policy.Notes, tools: FetchTools) {
        self.policy = policy
        self.tools = tools
        state = Locked(State(machine: machine, notes: notes))
    }

    /// Starts the fetch, which is already in the manager's or the gateway's table of fetches.
    ///
    /// - Parameter looksAgain: whether to look into the cache again, which may have the answer by now.
    func start(looksAgain: Bool) {
        policy.reserve(for: self)
        guard looksAgain else { return handle(.prepared) }
        policy.lookAgain(for: self) { [self] isFound in handle(isFound ? .found : .prepared) }
    }

    /// Cancels the fetch. Returns `false` when it is too late: an answer is being stored, or the fetch has ended.
    @discardableResult
    func cancel() -> Bool {
        let (isCancellable, actions) = state.withLock { state in
            (state.machine.isCancellable, state.machine.handle(.cancelled))
        }
        perform(actions)
        return isCancellable
    }

    /// Passes a demand of the readers of the body to the transfer.
    func obey(_ demand: TransferDemand) {
        state.withLock { $0.obey(demand) }
    }

    /// Changes the phase for an event, and performs the actions that follow.
    ///
    /// - Parameter change: runs under the same lock, right after the change of the phase.
    func handle(_ event: Event, also change: (inout State) -> Void = { _ in }) {
        let actions = state.withLock { state in
            let actions = state.machine.handle(event)
            change(&state)
            return actions
        }
        perform(actions)
    }

    func perform(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .ask: ask()
            case .askAgain: askAgain()
            case .cancel: obey(.cancel)
            case .cancelIfQueued: state.withLock { $0.transfer }?.cancelIfWaiting()
            case .invalidate: policy.invalidate(for: self)
            case .refresh: policy.refresh(for: self)
            case .store: if let summary = state.withLock({ $0.summary }) { policy.store(summary, for: self) }
            case .breakOff: policy.breakOff(for: self)
            case .deliver(let waiters, let outcome): policy.deliver(outcome, to: waiters, for: self)
            case .end(let outcome, let waiters):
                state.withLock { $0.reservation.take() }?.abandon()
                policy.end(outcome, for: waiters, of: self)
            }
        }
    }

    private func ask() {
        let number = state.withLock { state in
            state.asks += 1
            return state.asks
        }
        let transfer = tools.origin.fetch(policy.makeRequest(for: self), receiver: self)
        let isUnwanted = state.withLock { state in
            // This transfer may have ended, and the next may have begun, before this line.
            guard state.asks == number else { return false }
            state.transfer = transfer
            if let demand = state.demand { transfer.obey(demand) }
            return state.machine.isUnwanted && state.machine.phase == .asking
        }
        // All callers left before the transfer existed, so `cancelIfQueued` had no effect.
        if isUnwanted { transfer.cancelIfWaiting() }
        policy.didAsk(for: self)
    }

    private func askAgain() {
        policy.forgetHeld(for: self)
        state.withLock { state in
            (state.head, state.transfer) = (nil, nil)
            if state.demand != .cancel { state.demand = nil }
        }
        ask()
    }

    func originWillBeAsked(_ origin: String) throws {
        try policy.willAsk(origin, for: self)
    }

    func originDidAnswerInterim(_ head: OriginHead) {
        policy.didAnswerInterim(head, for: self)
    }

    func originDidAnswer(_ head: OriginHead) throws {
        state.withLock { $0.head = head }
        if let event = try policy.judge(head, for: self) { handle(event) }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        tools.metrics.receivedBytes.increment(by: bytes.count)
        try policy.didReceive(bytes, for: self)
    }

    func originDidPause() {
        policy.didPause(for: self)
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        switch result {
        case .success(let summary):
            policy.willEnd(isBroken: false, for: self)
            state.withLock { $0.summary = summary }
            handle(.finished)
        case .failure(let error):
            policy.willEnd(isBroken: true, for: self)
            handle(.broke(DownloadError(error)))
        }
    }
}

/// The part of a fetch that differs between `/download` and `/fetch`: the request, the meaning of its answer, and the
/// delivery to callers. ``Fetch`` calls the methods when its machine says so, without the fetch's lock.
protocol FetchPolicy: Sendable {
    associatedtype Caller: Sendable
    /// State that only the policy uses. It changes under the fetch's lock.
    associatedtype Notes: Sendable

    var rules: FetchRules { get }

    /// Reserves the entry that the answer may become, so that each purge from now on applies to this entry, too.
    func reserve(for fetch: Fetch<Self>)
    /// Looks into the cache once more, and tells `completion` whether the cache has the answer now.
    func lookAgain(for fetch: Fetch<Self>, completion: @escaping @Sendable (Bool) -> Void)
    func makeRequest(for fetch: Fetch<Self>) -> OriginRequest
    /// Called before the request waits for its place, and when it is about to be sent to an origin. An error ends the
    /// transfer.
    func willAsk(_ origin: String, for fetch: Fetch<Self>) throws
    /// Called when the origin client has got the request.
    func didAsk(for fetch: Fetch<Self>)
    /// Judges the head of an answer. Returns the event that follows, or `nil` when the policy handles it later. An
    /// error ends the transfer.
    func judge(_ head: OriginHead, for fetch: Fetch<Self>) throws -> Fetch<Self>.Event?
    func didAnswerInterim(_ head: OriginHead, for fetch: Fetch<Self>)
    /// Takes the next bytes of the body. An error ends the transfer.
    func didReceive(_ bytes: UnsafeRawBufferPointer, for fetch: Fetch<Self>) throws
    /// Called when all bytes that have arrived are processed, and the answer is not complete.
    func didPause(for fetch: Fetch<Self>)
    /// Called when the transfer has ended, before the machine gets the event.
    func willEnd(isBroken: Bool, for fetch: Fetch<Self>)
    /// Forgets the held response before the origin is asked again without validators.
    func forgetHeld(for fetch: Fetch<Self>)
    /// Removes the responses that the answer invalidates, and raises ``FetchMachine/Event/began(isKept:isOpen:)``.
    func invalidate(for fetch: Fetch<Self>)
    /// Stores the confirmation of the held response, and raises ``FetchMachine/Event/refreshed(_:)``.
    func refresh(for fetch: Fetch<Self>)
    /// Stores the answer, and raises ``FetchMachine/Event/stored`` or ``FetchMachine/Event/broke(_:)``.
    func store(_ summary: OriginSummary, for fetch: Fetch<Self>)
    /// Tells the readers of the body that it will never be whole.
    func breakOff(for fetch: Fetch<Self>)
    /// Gives callers the outcome before the fetch ends.
    func deliver(_ outcome: Fetch<Self>.Outcome, to waiters: [Fetch<Self>.Waiter], for fetch: Fetch<Self>)
    /// Takes the fetch out of its table, and gives the outcome to the callers that still wait.
    func end(_ outcome: Fetch<Self>.Outcome, for waiters: [Fetch<Self>.Waiter], of fetch: Fetch<Self>)
}

/// Defaults for a policy that gives callers the answer only when it is stored.
extension FetchPolicy {
    func willAsk(_ origin: String, for fetch: Fetch<Self>) throws {}
    func didAsk(for fetch: Fetch<Self>) {}
    func didAnswerInterim(_ head: OriginHead, for fetch: Fetch<Self>) {}
    func didPause(for fetch: Fetch<Self>) {}
    func willEnd(isBroken: Bool, for fetch: Fetch<Self>) {}
    func invalidate(for fetch: Fetch<Self>) {}
    func breakOff(for fetch: Fetch<Self>) {}
    func deliver(_ outcome: Fetch<Self>.Outcome, to waiters: [Fetch<Self>.Waiter], for fetch: Fetch<Self>) {}
}

/// A demand to the transfer of a fetch.
enum TransferDemand: Sendable {
    case pause, resume, cancel
}

extension OriginTransfer {
    func obey(_ demand: TransferDemand) {
        switch demand {
        case .pause: pause()
        case .resume: resume()
        case .cancel: cancel()
        }
    }
}
