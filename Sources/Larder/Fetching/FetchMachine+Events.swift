extension FetchMachine {
    /// Changes the phase for an event, and returns the actions to perform, in order. An event that has no meaning in
    /// the present phase has no effect.
    mutating func handle(_ event: Event) -> [Action] {
        switch (event, phase) {
        case (.left(let number, let givesUp), _): leave(number, givesUp: givesUp)
        case (.cancelled, _): cancel()
        case (.patienceEnded, _): endPatience()
        case (.overtaken, .preparing), (.overtaken, .asking): release(takeCallers(), .overtaken)
        case (.found, .preparing): end(.found)
        case (.prepared, .preparing): ask()
        case (.confirmed, .asking): move(to: .confirming)
        case (.failedOver, .asking): [.cancel] + end(.stale)
        case (.invalidates, .asking): move(to: .clearing, .invalidate)
        case (.began(let isKept, let isOpen), .asking): begin(isKept: isKept, isOpen: isOpen)
        case (.began(let isKept, _), .clearing): begin(isKept: isKept, isOpen: false)
        case (.finished, .clearing), (.broke, .clearing): note(earlyEnd: event)
        case (.finished, .asking): end(.failed(.transferFailed(code: 0, words: "the origin sent no answer")))
        case (.finished, .confirming): isCancelled ? end(.failed(.cancelled)) : move(to: .refreshing, .refresh)
        case (.finished, .arriving):
            isCancelled && !rules.deliversAtHead ? end(.failed(.cancelled)) : move(to: .storing, .store)
        case (.keepingEnded, .arriving), (.keepingEnded, .storing): close()
        case (.refreshed(.changed), .refreshing): askAgain()
        case (.refreshed(let refresh), .refreshing): end(.confirmed(refresh))
        case (.stored, .storing): end(.stored)
        case (.broke(let error), .arriving) where rules.deliversAtHead: [.breakOff] + end(.failed(error))
        case (.broke(let error), .asking), (.broke(let error), .confirming), (.broke(let error), .refreshing),
            (.broke(let error), .arriving), (.broke(let error), .storing):
            end(.failed(isCancelled ? .cancelled : error))
        default: []
        }
    }

    private mutating func move(to phase: Phase, _ actions: Action...) -> [Action] {
        self.phase = phase
        return actions
    }

    private mutating func ask() -> [Action] {
        if isCancelled || (isUnwanted && !rules.outlivesCallers) { return end(.failed(.cancelled)) }
        return isUnwanted ? move(to: .asking, .ask, .cancelIfQueued) : move(to: .asking, .ask)
    }

    private mutating func askAgain() -> [Action] {
        if isCancelled || isEnding { return end(.failed(.cancelled)) }
        for number in callers.keys { callers[number]?.isAfterHead = false }
        // If the followers' time limit passed before the 304 proved useless, they do not wait for a second answer.
        let followers = isPatienceOver ? takeFollowers() : []
        let released: [Action] = followers.isEmpty ? [] : [.deliver(followers, .impatient)]
        if isUnwanted, !rules.outlivesCallers { return released + end(.failed(.cancelled)) }
        phase = .asking
        return released + [.askAgain]
    }

    private mutating func begin(isKept: Bool, isOpen: Bool) -> [Action] {
        phase = .arriving
        self.isOpen = isOpen && !isCancelled && !isEnding
        var actions: [Action] = []
        if rules.deliversAtHead {
            let waiters = takeCallers()
            actions.append(.deliver(waiters, .arrived))
            // Only the leader gets an answer that is not kept. If the leader has left, cancels the transfer.
            if !isKept, !waiters.contains(where: { !$0.isFollower }) { actions.append(cancelTransfer()) }
        }
        if let earlyEnd { actions += handle(earlyEnd) }
        return actions
    }

    private mutating func note(earlyEnd event: Event) -> [Action] {
        earlyEnd = event
        return []
    }

    private mutating func close() -> [Action] {
        (isOpen, wasOpen) = (false, false)
        return []
    }

    private mutating func leave(_ number: UInt64, givesUp: Bool) -> [Action] {
        guard callers.removeValue(forKey: number) != nil else {
            let wasQueued = later.removeValue(forKey: number) != nil
            if wasQueued, !givesUp { queueGoesOnAlone = true }
            return []
        }
        if !givesUp { goesOnAlone = true }
        return abandonIfUnwanted()
    }

    /// Cancels a fetch that no caller wants, or lets it continue for the cache.
    private mutating func abandonIfUnwanted() -> [Action] {
        guard isUnwanted else { return [] }
        isAbandoned = true
        guard phase == .asking else { return [] }
        return [rules.outlivesCallers ? .cancelIfQueued : cancelTransfer()]
    }

    private mutating func endPatience() -> [Action] {
        isPatienceOver = true
        return phase == .preparing || phase == .asking ? release(takeFollowers(), .impatient) : []
    }

    private mutating func release(_ waiters: [Waiter], _ outcome: Outcome) -> [Action] {
        waiters.isEmpty ? [] : [.deliver(waiters, outcome)] + abandonIfUnwanted()
    }

    private mutating func takeFollowers() -> [Waiter] {
        let followers = callers.values.filter(\.isFollower).sorted { $0.number < $1.number }
        for follower in followers { callers[follower.number] = nil }
        return followers
    }

    private mutating func cancel() -> [Action] {
        guard isCancellable else {
            // Clients of `/fetch` still get the response if the 304 confirms it. If not, no second request follows.
            if phase == .refreshing, rules.deliversAtHead { isEnding = true }
            return []
        }
        (isCancelled, isAbandoned, isOpen) = (true, false, false)
        return phase == .preparing ? [] : [.cancel]
    }

    private mutating func cancelTransfer() -> Action {
        isEnding = true
        return .cancel
    }

    private mutating func takeCallers() -> [Waiter] {
        defer { callers = [:] }
        return callers.values.sorted { $0.number < $1.number }
    }

    private mutating func end(_ outcome: Outcome) -> [Action] {
        phase = .ended
        isOpen = false
        // The fetch was cancelled because all callers had left. A caller that has joined since then gets another fetch.
        if rules.queuesLateCallers, isAbandoned, case .failed(.cancelled) = outcome {
            later.merge(callers) { known, _ in known }
            callers = [:]
            queueGoesOnAlone = queueGoesOnAlone || goesOnAlone
        }
        return [.end(outcome, takeCallers())]
    }
}
