/// The differences between fetches for `/download` and for `/fetch`, as far as ``FetchMachine`` needs them.
struct FetchRules: Sendable {
    /// Whether callers get the answer when its head arrives, and read the body while it arrives. Otherwise callers get
    /// the entry once it is stored.
    var deliversAtHead: Bool
    /// Whether other callers may wait for this answer before its head has arrived.
    var isShared: Bool
    /// Whether a caller that must not have this answer waits for the next fetch of the key, because two fetches of one
    /// key never run at the same time. Otherwise such a caller is refused.
    var queuesLateCallers: Bool
    /// Whether a request that the origin has begun to answer continues without callers, because its answer may be kept.
    var outlivesCallers: Bool
}

/// The state machine of one fetch, which gets one answer from an origin for all callers that may share it.
///
/// The machine has no lock and does no I/O: an event goes in, and the actions that follow from it come out, in order.
/// ``Fetch`` performs them. The diagram of the phases is in docs/design.md.
///
/// Invariants:
/// - A caller is in `callers` or in `later` until an action or ``takeQueue()`` hands the caller out, which happens
///   once, or the caller leaves.
/// - Phases only go forward, with a single exception: ``Phase/refreshing`` goes back to ``Phase/asking``, once, because
///   the second request carries no validators.
/// - ``Action/end(_:_:)`` comes exactly once, and no action follows it. Callers may still join `later` afterwards.
struct FetchMachine<Caller: Sendable>: Sendable {
    enum Phase: Sendable {
        /// The fetch looks into the cache once more. (If several servers shared a cache, it would take a lease here.)
        case preparing
        /// The request is queued at the origin client or under way, and callers have not learned of an answer yet.
        case asking
        /// The head of a 304 has confirmed the held response. The fetch waits for the end of this answer.
        case confirming
        /// The confirmation is being stored.
        case refreshing
        /// The answer to an unsafe method has arrived. The responses that it invalidates are being removed.
        case clearing
        /// The head has arrived, and the body is on its way.
        case arriving
        /// All bytes have arrived, and the entry is being stored.
        case storing
        case ended
    }

    struct Waiter: Sendable {
        let number: UInt64
        let caller: Caller
        /// Whether another caller caused the fetch.
        let isFollower: Bool
        /// Whether the caller came after the head of a 304. The origin has not validated the response for this caller.
        var isAfterHead = false
    }

    enum Admission: Equatable, Sendable {
        /// The caller waits for this answer. `isFirst`: no other follower has waited for this answer.
        case waits(isFirst: Bool)
        /// The caller waits for the fetch that follows this one.
        case queued
        /// The caller may read the body that arrives.
        case reads
        case refused
    }

    enum Refresh: Sendable {
        case stored
        /// The confirmation is not stored. `isForAll`: all callers may use it nevertheless.
        case notKept(isForAll: Bool)
        /// The 304 does not confirm the held response, or the held response has changed since the request.
        case changed
    }

    enum Event: Sendable {
        /// The second look into the cache found the answer.
        case found
        /// The second look into the cache did not find a usable answer.
        case prepared
        /// The head of a 304 has arrived, the answer to the validators of the held response.
        case confirmed
        /// The head of an error has arrived. The callers get a stale response in its place.
        case failedOver
        /// The head of an answer has arrived that invalidates stored responses.
        case invalidates
        /// The present callers may have the answer. `isOpen`: callers that come from now on may have it too.
        case began(isKept: Bool, isOpen: Bool)
        /// The answer will not be stored after all.
        case keepingEnded
        /// The transfer has ended, and all bytes have arrived.
        case finished
        /// The transfer, or the storing, has failed.
        case broke(DownloadError)
        case refreshed(Refresh)
        case stored
        /// A caller has left. `givesUp`: the fetch need not continue for this caller.
        case left(UInt64, givesUp: Bool)
        /// The followers have waited long enough for the head.
        case patienceEnded
        /// Another fetch has brought an answer that the callers may be able to use.
        case overtaken
        /// The fetch must end.
        case cancelled
    }

    enum Outcome: Sendable {
        case found, arrived, impatient, overtaken, stale, stored
        case confirmed(Refresh)
        case failed(DownloadError)
    }

    enum Action: Sendable {
        /// Send the request, with the validators of the held response.
        case ask
        /// Send the request without validators. The reservation stays.
        case askAgain
        case cancel
        /// Cancel the transfer if the origin client has not begun it yet.
        case cancelIfQueued
        /// Remove the responses that the answer invalidates.
        case invalidate
        /// Store the confirmation of the held response.
        case refresh
        /// Store the entry.
        case store
        /// Tell the readers of the body that it will never be whole.
        case breakOff
        case deliver([Waiter], Outcome)
        /// Leave the table of fetches, and then give the outcome to the callers that still wait.
        case end(Outcome, [Waiter])
    }

    let rules: FetchRules
    var phase = Phase.preparing
    var callers: [UInt64: Waiter] = [:]
    /// The callers that wait for the fetch that follows.
    var later: [UInt64: Waiter] = [:]
    /// Whether the fetch continues without callers, because a caller started it without waiting, or left without giving
    /// up.
    var goesOnAlone: Bool
    /// Whether the fetch was cancelled on purpose, and not because its callers had left.
    var isCancelled = false
    /// Whether callers may begin to read the body that arrives.
    var isOpen = false
    /// Whether ``reopen()`` opens the fetch again.
    var wasOpen = false
    /// As `goesOnAlone`, for the fetch that follows.
    var queueGoesOnAlone = false
    var hasQueued = false
    var isPatienceOver = false
    var hadFollowers = false
    /// Whether the fetch was cancelled, or at some time no caller wanted its answer.
    var isAbandoned = false
    /// Whether no second transfer follows: no caller was left, or the fetch was cancelled in the phase `refreshing`.
    var isEnding = false
    /// The end of the transfer, when it comes before `began`.
    var earlyEnd: Event?

    /// - Parameters:
    ///   - leader: the caller that causes the fetch; it gets the number `number`. `nil`: no caller waits, and the fetch
    ///     goes on alone.
    init(_ rules: FetchRules, leader: Caller?, number: UInt64 = 0) {
        self.rules = rules
        goesOnAlone = leader == nil
        if let leader { callers[number] = Waiter(number: number, caller: leader, isFollower: false) }
    }

    /// Creates a fetch for the callers that an earlier fetch has queued.
    init(_ rules: FetchRules, following queue: Queue) {
        self.rules = rules
        callers = queue.waiters
        goesOnAlone = queue.goesOnAlone
        hadFollowers = !callers.isEmpty
    }

    /// Whether no caller wants the answer for now.
    var isUnwanted: Bool { callers.isEmpty && !goesOnAlone }

    /// Whether a new caller may wait for the answer.
    var takesWaiters: Bool {
        switch phase {
        case .preparing, .asking, .confirming, .refreshing: rules.isShared && !isPatienceOver && !isEnding
        case .arriving, .storing: !rules.deliversAtHead
        case .clearing, .ended: false
        }
    }

    /// Whether ``Event/cancelled`` cancels the fetch: no answer is being stored yet, and the fetch has not ended.
    var isCancellable: Bool {
        switch phase {
        case .preparing, .asking, .confirming, .clearing, .arriving: true
        case .refreshing, .storing, .ended: false
        }
    }

    // MARK: - Callers

    /// Takes a caller that comes while the fetch is under way.
    ///
    /// - Parameters:
    ///   - caller: `nil` for a caller that wants the answer fetched and does not wait.
    ///   - isLate: whether the caller must not have this answer, because it came after a purge or asks for a newer
    ///     answer.
    mutating func join(_ caller: Caller?, number: UInt64, isLate: Bool = false) -> Admission {
        if isLate || isCancelled || phase == .ended {
            guard rules.queuesLateCallers else { return .refused }
            if let caller { later[number] = Waiter(number: number, caller: caller, isFollower: hasQueued) }
            queueGoesOnAlone = queueGoesOnAlone || caller == nil
            hasQueued = true
            return .queued
        }
        guard takesWaiters else { return isOpen ? .reads : .refused }
        defer { hadFollowers = true }
        guard let caller else {
            goesOnAlone = true
            return .waits(isFirst: false)
        }
        let isAfterHead = phase == .confirming || phase == .refreshing
        callers[number] = Waiter(number: number, caller: caller, isFollower: true, isAfterHead: isAfterHead)
        return .waits(isFirst: !hadFollowers)
    }

    /// The callers that wait for the fetch that follows.
    struct Queue: Sendable {
        var waiters: [UInt64: Waiter] = [:]
        var goesOnAlone = false

        var isEmpty: Bool { waiters.isEmpty && !goesOnAlone }
    }

    /// Takes the callers that wait for the fetch that follows.
    mutating func takeQueue() -> Queue {
        defer { (later, queueGoesOnAlone, hasQueued) = ([:], false, false) }
        return Queue(waiters: later, goesOnAlone: queueGoesOnAlone)
    }

    /// The result of ``closeIfUnwaited()``.
    enum Closing {
        /// The fetch cannot be given up, and stays as it is.
        case refused
        /// The fetch is closed, and no caller waits for it.
        case closed
        /// The fetch is closed, and clients may read its body. If they do, ``reopen()`` undoes the closing.
        case mayHaveReaders
    }

    /// Closes a fetch without callers, so that it may be cancelled to free its place at the origin.
    mutating func closeIfUnwaited() -> Closing {
        guard callers.isEmpty else { return .refused }
        switch phase {
        case .preparing, .asking:
            isPatienceOver = true
            return .closed
        case .arriving:
            // Two threads may close the fetch before one reopens it. The second must not overwrite `wasOpen`.
            if isOpen { (wasOpen, isOpen) = (true, false) }
            return .mayHaveReaders
        case .confirming, .refreshing, .clearing, .storing, .ended: return .refused
        }
    }

    /// Undoes ``closeIfUnwaited()``.
    mutating func reopen() {
        isOpen = wasOpen && !isCancelled && (phase == .arriving || phase == .storing)
    }
}
