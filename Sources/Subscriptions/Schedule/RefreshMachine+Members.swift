import Primitives

extension RefreshMachine {
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
        /// The origin wants no request before this time, by its `Retry-After` or max-age; `nil` without such a wish.
        /// Only a refresh that a caller requests disregards the time.
        package var earliest: Timestamp?
        /// Whether the member waits because its host wants a pause or does not answer, or because there is no secret.
        var isHeldUp = false
        /// The beginning of the running request; otherwise `nil`.
        var asked: Timestamp?
        /// Whether the running request takes so long that it counts as a failure.
        var isSlow = false
        /// Whether the secret has changed since the running request began, so that a refusal does not stand.
        var hasNewSecret = false
        /// Whether the answer that settled the member left a body in the stage.
        var isStaged = false

        /// Whether readers have a copy after the next switch.
        var willHaveCopy: Bool {
            switch step {
            // The answer decides, also about an earlier lasting failure.
            case .waiting, .asking: hasCopy
            case .resting: hasCopy && problem?.isLasting != true
            case .settled: problem.map { hasCopy && !$0.isLasting } ?? true
            }
        }

        /// The body in the stage is lost before readers have it, so the member is due again.
        mutating func discardBody(due: Timestamp) {
            isStaged = false
            earliest = nil
            self.due = min(self.due, due)
        }

        /// The request that ran has an answer, or counts no more.
        mutating func endRequest() { (asked, isSlow, isHeldUp, hasNewSecret) = (nil, false, false, false) }

        package init(item: WantedItem, hasCopy: Bool, step: Step = .resting, due: Timestamp) {
            self.item = item
            self.hasCopy = hasCopy
            self.step = step
            self.due = due
        }
    }

    // MARK: - Members

    /// Each change of a member goes through this method, so that the tally and the queues follow. A member that waits
    /// for the same time as before has its element already.
    mutating func set(_ member: Member) {
        let key = member.item.key
        let old = members[key]
        if let old { tally.count(old, -1) }
        tally.count(member, 1)
        let (wait, oldWait) = (member.waitingElement, old?.waitingElement)
        if let wait, wait != oldWait || member.item.host != old?.item.host { queue.add(wait, host: member.item.host) }
        if let date = member.asked, date != old?.asked { asked.insert(.init(due: date, key: key)) }
        members[key] = member
        changes?.insert(key)
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
        /// Pending without a failure of their own or of their host, and without a slow request.
        var fine = 0
        /// The members of `fine` without a copy.
        var newcomers = 0
        /// Settled, with a copy that comes or goes at the next switch.
        var joining = 0

        mutating func count(_ member: Member, _ sign: Int) {
            switch member.step {
            case .waiting, .asking:
                pending += sign
                guard member.failures == 0, !member.isHeldUp, !member.isSlow else { return }
                fine += sign
                if !member.hasCopy { newcomers += sign }
            case .settled: if member.hasCopy != member.willHaveCopy { joining += sign }
            case .resting: break
            }
        }
    }

    // MARK: - Slow requests

    /// The time after which a request counts as a failure that may pass, so that an origin that sends a byte now and
    /// then delays a switch as one that fails. A body that takes longer arrives if the failures may delay the switch
    /// for long enough (``Rules/maxDelay``).
    package static let slowRequest: Duration = .seconds(1800)

    /// The time at which the oldest request is slow; `nil` without a request.
    var slowDate: Timestamp? { asked.first.map { $0.due + Self.slowRequest } }

    mutating func noteSlowRequests(_ now: Timestamp) {
        while let first = asked.first, first.due + Self.slowRequest <= now {
            asked.removeFirst()
            guard var member = members[first.key], member.asked == first.due else { continue }
            member.isSlow = true
            let reason = "the origin has been answering for more than \(Self.slowRequest.milliseconds / 60_000) minutes"
            member.problem = member.problem ?? MemberProblem(reason: reason, since: now)
            set(member)
            hostIsSlow(member.item.host, now)
        }
    }

    // MARK: - For reports

    /// The wanted members without a copy, in the order of the source.
    package var missing: [Member] { wanted.compactMap { members[$0] }.filter { !$0.hasCopy } }
    package var heldCount: Int { members.values.count { $0.hasCopy } }
}

extension RefreshMachine.Member {
    fileprivate var waitingElement: DueQueue.Element? {
        step == .waiting ? DueQueue.Element(due: due, key: item.key) : nil
    }
}
