import Primitives

/// Decides when a subscription asks for its source and its members, and when readers get the next generation: a pure
/// state machine without I/O. Its shell asks for ``sourceIsDue(at:)`` and ``waitingHosts()``, paces the requests, and
/// reports each answer.
///
/// A *round* begins when the source has answered. It asks for each member once, spread over the interval by the phase
/// of each URL; a round that a caller requested or that is overdue asks for all members at once, as fast as the pacing
/// permits. At its end all members switch to the next generation together. New members do not wait for the round: as
/// soon as all of them have a body, they join the generation, beside the old copies of the others.
///
/// Invariants:
/// - A member that is in no round and has a copy is never asked for.
/// - While a switch runs, the machine starts no other one.
/// - A failure never removes the copy of a member, except a lasting one such as a 404.
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

    /// A wanted item, with its copy and its part in the round.
    package struct Member: Hashable, Sendable {
        package enum Step: Hashable, Sendable {
            case resting
            /// To be asked for at ``Member/due``.
            case waiting
            case asking
            case settled
        }

        package var item: WantedItem
        /// Whether readers have a copy.
        package var hasCopy: Bool
        package var step = Step.resting
        package var due: Timestamp
        /// For adaptive intervals; `nil` before the first answer.
        package var interval: Duration?
        /// The failures in a row that may pass.
        package var failures = 0
        package var problem: MemberProblem?
        /// Whether the origin said that the resource will never come back.
        package var isStopped = false
        /// The origin wants no request before this time.
        var earliest: Timestamp?

        /// Whether readers have a copy after the next switch.
        var willHaveCopy: Bool {
            if problem?.isLasting == true { return false }
            return step == .settled && problem == nil || hasCopy
        }

        package init(item: WantedItem, hasCopy: Bool, step: Step = .resting, due: Timestamp) {
            self.item = item
            self.hasCopy = hasCopy
            self.step = step
            self.due = due
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
        case memberAnswered(key: String, MemberAnswer)
        /// `lost`: the reasons for which members are not in the new generation, by their keys.
        case switched(lost: [String: String])
        /// `isRoom`: the members did not fit.
        case switchFailed(isRoom: Bool)
        case refreshRequested
        /// The time has come that ``RefreshMachine/nextDate`` named.
        case time
    }

    /// One refresh of all members; see ``RefreshMachine``.
    package struct Round: Hashable, Sendable {
        package var start: Timestamp
        /// Since when only failures delay the switch.
        package var delayStart: Timestamp?
        /// Whether a switch within the round failed, so that only the one at its end is tried.
        var hasFailedSwitch = false
    }

    package let rules: Rules
    /// The keys in the order of the source.
    package internal(set) var wanted: [String]
    package internal(set) var members: [String: Member]
    package internal(set) var round: Round?
    var isAskingSource = false
    var queue = DueQueue()
    var tally = Tally()
    package internal(set) var sourceDue: Timestamp
    package internal(set) var sourceInterval: Duration?
    package internal(set) var sourceProblem: MemberProblem?
    /// Whether the generation has members that are not wanted any more.
    var hasRemovals = false
    /// Whether the running switch removes them.
    var switchesRemovals = false
    var isSwitching = false
    /// Whether the running switch ends the round.
    var endsRound = false
    /// The keys of the running switch that have a staged body, or lose their copy.
    var joining: Set<String> = []
    var isUrgent = false
    /// Whether a caller requested a refresh during the round, so that another one follows.
    var isRequestedAgain = false
    /// Since when the cache has no room for both generations.
    package internal(set) var noRoomSince: Timestamp?

    /// A subscription that is new, at `now`.
    package init(_ rules: Rules, at now: Timestamp) {
        self.init(rules, members: [], sourceDue: now)
    }

    /// A subscription after a restart. The members are in the order of the source.
    package init(_ rules: Rules, members: [Member], sourceDue: Timestamp, sourceInterval: Duration? = nil) {
        self.rules = rules
        wanted = members.map(\.item.key)
        self.members = [:]
        self.sourceDue = sourceDue
        self.sourceInterval = sourceInterval
        for member in members { set(member) }
    }

    // MARK: - Requests

    /// Whether to ask the source for its list now. Then call ``beginSource()`` first.
    package func sourceIsDue(at now: Timestamp) -> Bool {
        !isAskingSource && round == nil && !isSwitching && sourceDue <= now
    }

    /// Notes that the shell asks the source, until ``Event/sourceAnswered(_:)``.
    package mutating func beginSource() { isAskingSource = true }

    /// The hosts with members that wait for a request, and the time from which on the first one is due.
    package mutating func waitingHosts() -> [(host: String, due: Timestamp)] {
        Array(queue.hosts).compactMap { host in front(of: host).map { (host, $0.due) } }
    }

    /// Begins the request for the member of the host that is due for longest. `nil` when none is due.
    package mutating func beginMember(ofHost host: String, at now: Timestamp) -> WantedItem? {
        guard let first = front(of: host), first.due <= now, var member = members[first.key] else { return nil }
        queue.removeFront(of: host)
        member.step = .asking
        set(member)
        return member.item
    }

    private mutating func front(of host: String) -> DueQueue.Element? {
        queue.front(of: host) { [members] element in
            members[element.key].map { $0.step == .waiting && $0.due == element.due } ?? false
        }
    }

    /// The next time at which the source is due or ``Event/time`` has an effect; `nil` while answers alone can change
    /// the state. For the members see ``waitingHosts()``.
    package var nextDate: Timestamp? {
        if isSwitching || isAskingSource { return nil }
        if let round { return round.delayStart.map { $0 + rules.maxDelay } }
        return sourceDue
    }

    // MARK: - Members

    /// Each change of a member goes through this method, so that the tally and the queue follow.
    mutating func set(_ member: Member) {
        let key = member.item.key
        if let old = members[key] { tally.count(old, -1) }
        tally.count(member, 1)
        if member.step == .waiting { queue.add(.init(due: member.due, key: key), host: member.item.host) }
        members[key] = member
    }

    mutating func remove(_ key: String) -> Member? {
        let old = members.removeValue(forKey: key)
        if let old { tally.count(old, -1) }
        return old
    }

    /// The members by their parts in the next switch.
    struct Tally: Hashable, Sendable {
        /// To be asked for, or being asked for.
        var pending = 0
        /// Pending without a failure.
        var fine = 0
        /// Pending without a failure and without a copy.
        var newcomers = 0
        /// Settled, with a copy that comes or goes at the next switch.
        var joining = 0

        mutating func count(_ member: Member, _ sign: Int) {
            switch member.step {
            case .waiting, .asking:
                pending += sign
                guard member.failures == 0 else { return }
                fine += sign
                if !member.hasCopy { newcomers += sign }
            case .settled: if member.hasCopy != member.willHaveCopy { joining += sign }
            case .resting: break
            }
        }
    }

    // MARK: - For reports

    /// The wanted members without a copy, in the order of the source.
    package var missing: [Member] { wanted.compactMap { members[$0] }.filter { !$0.hasCopy } }
    package var heldCount: Int { members.values.count { $0.hasCopy } }
}
