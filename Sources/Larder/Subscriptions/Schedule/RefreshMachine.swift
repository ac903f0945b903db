import DiskCache
import Primitives

/// Decides when a subscription asks for its source and its members, and when readers get the next generation: a pure
/// state machine without I/O. Its shell asks for ``sourceIsDue(at:)`` and ``dueMembers(at:)``, paces the requests, and
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
struct RefreshMachine: Sendable {
    struct Rules: Hashable, Sendable {
        /// The name of the subscription, which chooses its phase.
        var name: String
        var interval: RefreshInterval
        /// The longest time for which failures that may pass delay a switch.
        var maxDelay: Duration = .seconds(300)
        /// Whether the source may lose more than half of its items at once.
        var allowsShrink = false
        var quietHours: QuietHours?
    }

    struct Member: Hashable, Sendable {
        enum Step: Hashable, Sendable {
            case resting
            /// To be asked for at ``Member/due``.
            case waiting
            case asking
            case settled
        }

        var item: WantedItem
        /// Whether readers have a copy.
        var hasCopy: Bool
        var step = Step.resting
        var due: Timestamp
        /// For adaptive intervals; `nil` before the first answer.
        var interval: Duration?
        /// The failures in a row that may pass.
        var failures = 0
        var problem: MemberProblem?
        /// Whether the origin said that the resource will never come back.
        var isStopped = false
    }

    enum Action: Hashable, Sendable {
        /// Makes the members the next generation. `kept`: those whose entry stays as it is. `ends`: the round ends with
        /// the switch, and with it the stage. Reported back as ``Event/switched(lost:)`` or an error.
        case publish(kept: [String], changed: [String], ends: Bool)
        /// Discards the bodies that were staged since the last ended round.
        case dropStage
    }

    enum Event: Sendable {
        case sourceAnswered(SourceAnswer)
        case memberAnswered(key: String, MemberAnswer)
        case switched(lost: [String: GenerationSwitch.Loss])
        /// `isRoom`: the members did not fit.
        case switchFailed(isRoom: Bool)
        case refreshRequested
        /// The time has come that ``RefreshMachine/nextDate`` named.
        case time
    }

    struct Round: Hashable, Sendable {
        var start: Timestamp
        /// Since when only failures delay the switch.
        var delayStart: Timestamp?
    }

    let rules: Rules
    /// The keys in the order of the source.
    var wanted: [String]
    var members: [String: Member]
    var round: Round?
    var isAskingSource = false
    var sourceDue: Timestamp
    var sourceInterval: Duration?
    var sourceProblem: MemberProblem?
    /// Whether the generation has members that are not wanted any more.
    var hasRemovals = false
    var isSwitching = false
    /// Whether the running switch ends the round.
    var endsRound = false
    /// The keys of the running switch that have a staged body, or lose their copy.
    var joining: Set<String> = []
    var isUrgent = false
    /// Whether a caller requested a refresh during the round, so that another one follows.
    var isRequestedAgain = false
    /// Since when the cache has no room for both generations.
    var noRoomSince: Timestamp?

    /// A subscription that is new, at `now`.
    init(_ rules: Rules, at now: Timestamp) {
        self.init(rules, members: [], sourceDue: now)
    }

    /// A subscription after a restart. The members are in the order of the source.
    init(_ rules: Rules, members: [Member], sourceDue: Timestamp, sourceInterval: Duration? = nil) {
        self.rules = rules
        wanted = members.map(\.item.key.text)
        self.members = Dictionary(members.map { ($0.item.key.text, $0) }) { first, _ in first }
        self.sourceDue = sourceDue
        self.sourceInterval = sourceInterval
    }

    // MARK: - Requests

    func sourceIsDue(at now: Timestamp) -> Bool { !isAskingSource && round == nil && !isSwitching && sourceDue <= now }

    mutating func beginSource() { isAskingSource = true }

    /// The keys of the members to be asked for, those that are due for longest first.
    func dueMembers(at now: Timestamp) -> [String] {
        guard noRoomSince == nil || round != nil else { return [] }
        let due = wanted.filter { members[$0].map { $0.step == .waiting && $0.due <= now } ?? false }
        return due.sorted { (members[$0]!.due, $0) < (members[$1]!.due, $1) }
    }

    mutating func begin(_ key: String) { members[key]?.step = .asking }

    /// The next time at which a request is due or ``Event/time`` has an effect; `nil` while only answers can change
    /// the state. Pacing may delay the requests further.
    var nextDate: Timestamp? {
        var dates = members.values.filter { $0.step == .waiting }.map(\.due)
        if !isAskingSource, round == nil, !isSwitching { dates.append(sourceDue) }
        if let start = round?.delayStart { dates.append(start + rules.maxDelay) }
        return dates.min()
    }

    // MARK: - For reports

    /// The wanted members without a copy, in the order of the source.
    var missing: [Member] { wanted.compactMap { members[$0] }.filter { !$0.hasCopy } }
    var heldCount: Int { members.values.count { $0.hasCopy } }
}
