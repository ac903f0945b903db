import Primitives

/// Decides when a subscription asks for its source and its members, and when readers get the next generation: a pure
/// state machine without I/O. Its shell asks for ``sourceIsDue(at:)`` and ``nextTurn()``, paces the requests, and
/// reports each answer.
///
/// A *round* begins when the source has answered, and also when members are due before the source is, because the
/// source may change seldom, and its host may want no requests for long. With a fixed interval a round asks for each
/// member once, spread over the interval by the phase of each URL; a round that a caller requested or that is overdue
/// asks for all members at once, as fast as the pacing permits. With an adaptive interval a round asks for the members
/// that are due within the shortest interval. At its end all its members switch to the next generation together. New
/// members do not wait for the round: as soon as all of them have a body, they join the generation, beside the old
/// copies of the others.
///
/// In the quiet hours no request begins, except those of a refresh that a caller requested, and of a new subscription.
/// A round that the quiet hours interrupt goes on after them, and only then do its members switch: readers keep the
/// whole old generation. Failures delay the switch no longer than `maxDelay` also in the quiet hours.
///
/// Invariants:
/// - A member that is in no round and has a copy is never asked for.
/// - While a switch runs, the machine starts no other one.
/// - A failure never removes the copy of a member, except a lasting one such as a 404.
/// - Members that a switch has lost are asked for again at once if the loss may pass, but only one time in a row.
/// - Without the secret of its requests the machine permits no request, and begins no round.
/// - An answer settles a member only in the round of its request, and only before the switch that ends this round has
///   begun, because the body of a late answer is not part of the switch.
package struct RefreshMachine: Sendable {
    /// The members of a definition that decide about its refreshes.
    package struct Rules: Hashable, Sendable {
        /// The name of the subscription, which chooses its phase.
        package var name: String
        package var interval: RefreshInterval
        /// The longest time for which failures that may pass delay a switch.
        package var maxDelay: Duration = .seconds(300)
        /// Whether the source may lose more than half of its items at once.
        package var allowsShrink = false
        package var quietHours: QuietHours?

        package init(name: String, interval: RefreshInterval) {
            self.name = name
            self.interval = interval
        }
    }

    /// The work of the shell.
    package enum Action: Hashable, Sendable {
        /// Makes the members the next generation. `kept`: the keys with an unchanged entry. `ends`: the round ends with
        /// the switch, and with it the stage. Reported back as ``Event/switched(lost:)`` or an error.
        case publish(kept: [String], changed: [String], ends: Bool)
        /// Discards the bodies that were staged since the last ended round.
        case dropStage
    }

    /// The reports of the shell, and of its timer.
    package enum Event: Sendable {
        case sourceAnswered(SourceAnswer)
        /// `ticket`: as in ``MemberRequest``. An answer to a request of an earlier round has no effect.
        case memberAnswered(key: String, ticket: UInt64, MemberAnswer)
        /// `lost`: the members that the switch did not bring into the generation, by their keys.
        case switched(lost: [String: MemberLoss])
        /// `isRoom`: the members did not fit.
        case switchFailed(isRoom: Bool)
        /// The host wants no request before `until`, as with 429 or `Retry-After`. Its members then delay a switch no
        /// longer than failing ones, and are asked for after the pause. At most ``HostPacer/longestPause`` counts, and
        /// an earlier date than that of a running pause has no effect. The shell reports each pause to all
        /// subscriptions with members of the host.
        case hostPaused(host: String, until: Timestamp)
        /// The source is due (``RefreshMachine/sourceIsDue(at:)``), but its host wants no request before `until`. The
        /// source is then due at that time, and a round of the members does not wait for it. At most
        /// ``HostPacer/longestPause`` counts.
        case sourcePaused(until: Timestamp)
        /// The shell lacks the secret of the requests, and looks for it again at `lookDate`. Until
        /// ``accessRegained`` no request begins. A running round ends after `maxDelay`, with the old copies of the
        /// members that it has not asked for.
        case accessLost(reason: String, lookDate: Timestamp)
        /// The shell has the secret, or may find it now.
        case accessRegained
        /// The secret was stored again, perhaps another one. The shell may find it now. The source is due if it gave no
        /// list, and the members that the origin refused (``MemberAnswer/forbidden(reason:)``) are due.
        case secretChanged
        case refreshRequested
        /// The time has come that ``RefreshMachine/nextDate`` named.
        case time
    }

    /// A request for a member. The shell keeps the body of the answer in the stage of the round that `ticket` numbers.
    package struct MemberRequest: Hashable, Sendable {
        package let item: WantedItem
        /// The number of the round, for ``Event/memberAnswered(key:ticket:_:)``. Numbers begin again after a restart,
        /// which ends all requests.
        package let ticket: UInt64
    }

    /// One refresh of all members; see ``RefreshMachine``.
    package struct Round: Hashable, Sendable {
        package var start: Timestamp
        /// The number of the round.
        package let ticket: UInt64
        /// Since when only failures delay the switch.
        package var delayStart: Timestamp?
        /// Whether a switch within the round failed, so that only the one at its end is tried.
        var hasFailedSwitch = false
        /// Whether the list of the source has changed or a member was asked for. Other rounds end without a switch.
        var hasEffect = false
        /// Whether a body found no room during a switch, so that the round ends after it.
        var lacksRoom = false
        /// The members for which alone the cache had no room in this round, by their keys.
        var foundNoRoom: Set<String> = []
        /// Whether a member was confirmed, or has a new body.
        var hasSuccess = false
        /// Whether a caller requested the round.
        var isUrgent = false
        /// Whether the round asks again for members that a switch has lost. Its further losses wait.
        var isRepetition = false
    }

    package let rules: Rules
    var clock: ClockWatch
    /// The keys in the order of the source.
    package internal(set) var wanted: [String]
    package internal(set) var members: [String: Member]
    package internal(set) var round: Round?
    /// The number of the last round.
    var lastTicket: UInt64 = 0
    var isAskingSource = false
    /// Whether the secret has changed since the shell began to ask the source.
    var sourceHasNewSecret = false
    var queue = DueQueue()
    /// The running requests by their beginnings. An element that no longer fits its member stays until it comes first.
    var asked = Heap<DueQueue.Element>()
    var tally = Tally()
    /// By their names. A host without failures and pause has no element.
    var troubles: [String: HostTrouble] = [:]
    package internal(set) var sourceDue: Timestamp
    /// The next round of all members. `nil` with an adaptive interval, and before the first round.
    var regularDue: Timestamp?
    /// The earliest date of a member outside of rounds; `nil` during a round, and without members.
    var membersDue: Timestamp?
    package internal(set) var sourceInterval: Duration?
    /// The source wants no request before this time, by its `Retry-After` or max-age; `nil` without such a wish.
    package internal(set) var sourceEarliest: Timestamp?
    package internal(set) var sourceProblem: MemberProblem?
    /// `nil`: the shell has the secret of the requests, or they need none.
    var accessLoss: AccessLoss?
    /// The members of the generation that the source has dropped, until a switch removes them. A member that the source
    /// lists again before that keeps its copy.
    var leaving: [String: Member] = [:]
    /// The keys of copies without a member, until a switch releases them.
    var copies: Set<String>
    /// The keys of the members that have changed since ``takeChanges()``; `nil`: all, because the list has changed.
    var changes: Set<String>?
    var isSwitching = false
    /// Whether the running switch ends the round.
    var endsRound = false
    /// The keys of the running switch that have a staged body, or lose their copy.
    var joining: Set<String> = []
    /// Whether a caller has requested the next round.
    package internal(set) var isUrgent = false
    /// Whether the next round asks again for members that the last switch has lost.
    var repeatsLosses = false
    /// Whether the next list of the source may be much shorter.
    var isRedefined = false
    /// Whether a caller requested a refresh during the round, so that another one follows.
    var isRequestedAgain = false
    /// The members for which alone the cache had no room at their last answers, by their keys. A restart forgets them.
    var roomless: Set<String> = []
    /// Since when the cache has no room for both generations.
    package internal(set) var noRoomSince: Timestamp?

    /// A subscription that is new, at `now`.
    package init(_ rules: Rules, at now: Timestamp) {
        var state = State(members: [], sourceDue: now, date: now)
        state.isUrgent = true
        self.init(rules, state, at: now)
    }

    /// A subscription after a restart, or with a changed definition.
    package init(_ rules: Rules, _ state: State, at now: Timestamp) {
        self.rules = rules
        clock = ClockWatch(state.date)
        wanted = []
        members = [:]
        sourceDue = state.sourceDue
        sourceInterval = state.sourceInterval
        sourceEarliest = state.sourceEarliest
        sourceProblem = state.sourceProblem
        noRoomSince = state.noRoomSince
        for member in state.leaving { leaving[member.item.key] = member }
        copies = state.copies
        isUrgent = state.isUrgent
        isRedefined = state.isRedefined
        troubles = state.pauses.mapValues { HostTrouble(pauseEnd: $0) }
        for var member in state.members where members[member.item.key] == nil {
            member.step = .resting
            wanted.append(member.item.key)
            set(member)
        }
        regularDue = rules.interval.isFixed ? state.regularDue : nil
        observe(now)
        limitDates(now)
        membersDue = earliestDue()
    }

    // MARK: - Requests

    /// Whether to ask the source for its list now. Then call ``beginSource()`` first.
    package func sourceIsDue(at now: Timestamp) -> Bool {
        !isAskingSource && round == nil && !isSwitching && accessLoss == nil && sourceDue <= now
            && (isUrgent || scheduled(now) <= now)
    }

    /// Notes that the shell asks the source, until ``Event/sourceAnswered(_:)``.
    package mutating func beginSource() { isAskingSource = true }

    /// The date from which on the next document of a source may be asked for: `now`, or the end of the quiet hours that
    /// have begun since the first document, unless a caller requested the refresh.
    package func nextDocument(from now: Timestamp) -> Timestamp { isUrgent ? now : scheduled(now) }

    /// The host that is first to have a member that is due and no hold, and the date from which on; `nil` while answers
    /// alone can change this.
    package mutating func nextTurn() -> (host: String, date: Timestamp)? {
        if openTicket == nil || accessLoss != nil { return nil }
        return queue.firstHost { [members] in Self.isCurrent($0, members) }
    }

    /// Leaves a host out of ``nextTurn()`` before a date, because the pacing permits no earlier request. `nil`: before
    /// ``freeHost(_:)``.
    package mutating func holdHost(_ host: String, until date: Timestamp?) { queue.hold(host, until: date) }

    /// Ends a hold early, when a request to the host has ended.
    package mutating func freeHost(_ host: String) { queue.free(host) }

    /// The number of the running refresh or of the next one, which begins with the request for the source.
    package var refreshNumber: UInt64 { round?.ticket ?? lastTicket + 1 }

    /// Begins the request for the member of the host that is due for longest. `nil` when none is due.
    package mutating func beginMember(ofHost host: String, at now: Timestamp) -> MemberRequest? {
        observe(now)
        postpone(now)
        guard let openTicket, let first = front(of: host), first.due <= now, var member = members[first.key] else {
            return nil
        }
        queue.removeFront(of: host)
        (member.step, member.asked) = (.asking, now)
        set(member)
        round?.hasEffect = true
        return MemberRequest(item: member.item, ticket: openTicket)
    }

    /// The number of the round that still takes answers; `nil` without a round, and during the switch that ends it.
    var openTicket: UInt64? { isSwitching && endsRound ? nil : round?.ticket }

    private mutating func front(of host: String) -> DueQueue.Element? {
        queue.front(of: host) { [members] in Self.isCurrent($0, members) }
    }

    private static func isCurrent(_ element: DueQueue.Element, _ members: [String: Member]) -> Bool {
        members[element.key].map { $0.step == .waiting && $0.due == element.due } ?? false
    }

    /// The next time at which the source is due or ``Event/time`` has an effect; `nil` while answers and the secret of
    /// the requests alone can change the state. For the members see ``nextTurn()``, and for the secret ``lookDate``.
    package var nextDate: Timestamp? {
        if isSwitching || isAskingSource { return nil }
        if let round { return round.delayStart.map { $0 + rules.maxDelay } ?? slowDate }
        if accessLoss != nil { return nil }
        return roundDate.map { min($0, sourceDue) } ?? sourceDue
    }
}
