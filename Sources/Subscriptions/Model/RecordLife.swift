/// The phases of a stored subscription, from its definition to its end: a pure state machine without I/O. The shell
/// reports each event, and performs the returned actions in their order.
///
/// Invariants:
/// - A lookup, a running set and a release never overlap, so that each of them sees the result of the one before.
/// - An end that is requested during a lookup begins when the lookup ends, and a new definition during a lookup changes
///   only the set that begins then.
package struct RecordLife: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The namespace is missing, or the last lookup or release failed.
        case closed
        /// The generation is being looked up in a version of the namespace (``Event/turn(space:)``).
        case opening(space: Int)
        /// The set runs.
        case open(space: Int)
        /// The cache, and then the store, forget the subscription.
        case ending
        case ended
    }

    package enum Event: Hashable, Sendable {
        /// The present version of the namespace; `nil`: there is no such namespace. The shell reports it at each turn
        /// of its timer. A closed subscription is then tried again.
        case turn(space: Int?)
        /// `isFound`: whether the generation could be looked up.
        case lookedUp(isFound: Bool)
        case redefined
        case endRequested
        /// `isDone`: whether cache and store have forgotten the subscription.
        case released(isDone: Bool)
        /// The namespace was removed with the entries, and the store has forgotten the subscription.
        case discarded
    }

    package enum Action: Hashable, Sendable {
        /// Looks up the generation; reported back as ``Event/lookedUp(isFound:)``.
        case lookUp
        /// Begins the set with the generation that was found.
        case begin
        /// Breaks the running set off. Its generation stays.
        case breakOff
        /// Reported back as ``Event/released(isDone:)``.
        case release
        /// Answers the calls that wait for the end of the lookup.
        case answerCalls
    }

    package private(set) var phase = Phase.closed
    private var isEnding: Bool
    private var space: Int?

    /// - Parameter isEnding: whether an earlier process has begun the end.
    package init(isEnding: Bool = false) {
        self.isEnding = isEnding
    }

    /// Whether calls must wait, because the state in the cache is about to be known.
    package var isOpening: Bool { if case .opening = phase { true } else { false } }

    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .turn(let now):
            space = now
            switch phase {
            case .closed: return start()
            case .open(let before) where before != now: return restart()
            case .open, .opening, .ending, .ended: return []
            }
        case .lookedUp(let isFound):
            guard case .opening(let before) = phase else { return [] }
            phase = .closed
            if isEnding { return [.answerCalls] + start() }
            if before != space {
                let actions = start()
                return actions.isEmpty ? [.answerCalls] : actions
            }
            guard isFound else { return [.answerCalls] }
            phase = .open(space: before)
            return [.begin, .answerCalls]
        case .redefined:
            switch phase {
            case .closed: return start()
            case .open: return restart()
            case .opening, .ending, .ended: return []
            }
        case .endRequested:
            isEnding = true
            switch phase {
            case .closed: return start()
            case .open: return restart()
            case .opening, .ending, .ended: return []
            }
        case .released(let isDone):
            guard phase == .ending else { return [] }
            phase = isDone ? .ended : .closed
            return []
        case .discarded:
            let last = phase
            phase = .ended
            switch last {
            case .open: return [.breakOff]
            case .opening: return [.answerCalls]
            case .closed, .ending, .ended: return []
            }
        }
    }

    private mutating func restart() -> [Action] {
        phase = .closed
        return [.breakOff] + start()
    }

    private mutating func start() -> [Action] {
        guard let space else { return [] }
        phase = isEnding ? .ending : .opening(space: space)
        return isEnding ? [.release] : [.lookUp]
    }
}
