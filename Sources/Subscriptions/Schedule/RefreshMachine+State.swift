import Primitives

extension RefreshMachine {
    /// The part of a machine that survives a restart. The shell writes it beside the generation that readers have,
    /// after each switch and each answer of the source, and as often as it likes in between.
    ///
    /// ```swift
    /// save(machine.state)
    /// // In the next process:
    /// var machine = RefreshMachine(subscription.rules, state, at: clock.now())
    /// ```
    ///
    /// A round and its stage do not survive, so the members of the round are due again. A kill between a switch and its
    /// report leaves a state that is older than the generation; therefore the shell sets ``Member/hasCopy`` by the
    /// generation before it starts the machine.
    package struct State: Hashable, Sendable {
        /// In the order of the source. Their ``Member/step`` counts as ``Member/Step/resting``.
        package var members: [Member]
        package var sourceDue: Timestamp
        /// The latest time that the machine has seen. An earlier time at the restart shows that the clock has gone
        /// back, and then all dates move with it.
        package var date: Timestamp
        /// The source wants no request before this time; `nil` without such a wish. Only a refresh that a caller
        /// requests disregards the time.
        package var sourceEarliest: Timestamp?
        /// As ``Member/interval``, for the source.
        package var sourceInterval: Duration?
        package var sourceProblem: MemberProblem?
        /// The next round of all members. `nil` with an adaptive interval, and before the first round: when the source
        /// is due.
        package var regularDue: Timestamp?
        /// Since when the cache has no room for both generations; `nil`: the last switch found room.
        package var noRoomSince: Timestamp?
        /// The ends of the hosts' pauses (``Event/hostPaused(host:until:)``).
        package var pauses: [String: Timestamp] = [:]
        /// The members of the generation that the source has dropped, by their keys, until a switch removes them.
        package var leaving: [Member] = []
        /// The keys of further copies in the generation, of which the members are lost with an earlier state. A
        /// resource that the source lists keeps its copy. ``RefreshMachine/state`` leaves the keys out.
        package var copies: Set<String> = []
        /// Whether a caller has requested a refresh that is not complete.
        package var isUrgent = false
        /// Whether a caller has changed the definition since the last list of the source, so that the next list may be
        /// much shorter.
        package var isRedefined = false

        package init(members: [Member], sourceDue: Timestamp, date: Timestamp) {
            self.members = members
            self.sourceDue = sourceDue
            self.date = date
        }
    }

    /// The state as a restart at this moment should find it.
    package var state: State {
        var state = stateOfSource
        state.members = wanted.compactMap { storedMember($0) }
        state.leaving = leaving.values.sorted { $0.item.key < $1.item.key }
        return state
    }

    /// A wanted member in ``state``; `nil` for another key.
    package func storedMember(_ key: String) -> Member? {
        guard var member = members[key] else { return nil }
        // The stage ends with the process.
        if member.isStaged, let round { member.discardBody(due: round.start) }
        member.step = .resting
        member.endRequest()
        return member
    }

    /// ``state`` without the members.
    package var stateOfSource: State {
        var state = State(members: [], sourceDue: sourceDue, date: clock.latest)
        state.sourceEarliest = sourceEarliest
        state.sourceInterval = sourceInterval
        state.regularDue = regularDue
        state.sourceProblem = sourceProblem
        state.noRoomSince = noRoomSince
        state.pauses = troubles.compactMapValues(\.pauseEnd)
        state.isRedefined = isRedefined
        state.isUrgent = isUrgent || isRequestedAgain || round?.isUrgent == true
        if let round, state.isUrgent { state.sourceDue = min(sourceDue, round.start) }
        return state
    }

    /// The keys of the members of which ``state`` may have changed since the last call; `nil`: the list, or a member
    /// that leaves, has changed, too.
    package mutating func takeChanges() -> Set<String>? {
        defer { changes = [] }
        return changes
    }
}
