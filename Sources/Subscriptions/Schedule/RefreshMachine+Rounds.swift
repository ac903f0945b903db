import Primitives

/// The beginning and the end of rounds.
extension RefreshMachine {
    /// The date of the next round that asks for members without asking the source before; `nil`: no member will be due.
    ///
    /// A fixed interval has regular rounds, each with all members, so that the members switch together. Between these
    /// rounds, only members that an earlier round has missed are due. With an adaptive interval each member has its own
    /// date.
    var roundDate: Timestamp? {
        guard let membersDue else { return nil }
        return regularDue.map { min($0, membersDue) } ?? membersDue
    }

    func roundIsDue(_ now: Timestamp) -> Bool {
        guard round == nil, !isSwitching, !isAskingSource, accessLoss == nil, sourceDue > now, let roundDate else {
            return false
        }
        return roundDate <= now && (isUrgent || scheduled(now) <= now)
    }

    /// `date`, or the end of the quiet hours in which it lies.
    func scheduled(_ date: Timestamp) -> Timestamp { rules.quietHours?.next(from: date) ?? date }

    /// `date`, or the end of the quiet hours in which it lies if they concern the round.
    func permitted(_ date: Timestamp) -> Timestamp { round?.isUrgent == true ? date : scheduled(date) }

    /// Moves the dates that have passed to the end of the quiet hours in which `now` lies.
    mutating func postpone(_ now: Timestamp) {
        let end = permitted(now)
        guard end > now else { return }
        if !isUrgent { sourceDue = max(sourceDue, end) }
        membersDue = membersDue.map { max($0, end) }
        regularDue = regularDue.map { max($0, end) }
        for var member in Array(members.values) where member.step == .waiting && member.due < end {
            member.due = end
            set(member)
        }
    }

    mutating func beginRound(_ now: Timestamp) {
        lastTicket += 1
        round = Round(start: now, ticket: lastTicket, isUrgent: isUrgent, isRepetition: repeatsLosses)
        repeatsLosses = false
        membersDue = nil
        troubles = troubles.compactMapValues { trouble in
            trouble.pauseEnd.flatMap { $0 > now ? HostTrouble(pauseEnd: $0) : nil }
        }
        let interval = rules.interval.shortest
        // Members with a date before the limit take part.
        var limit = now + interval
        var (usesPhases, asksAll) = (false, isUrgent)
        if rules.interval.isFixed {
            let date = regularDue ?? sourceDue
            if isUrgent || date <= now {
                usesPhases = true
                // After a downtime all members are overdue, and only the pacing spreads them.
                asksAll = isUrgent || date + interval < now
                regularDue = scheduled(limit)
            } else {
                limit = min(limit, date)
            }
        }
        for key in wanted {
            guard var member = members[key], member.step == .resting, !member.isStopped else { continue }
            member.failures = 0
            var due = max(member.due, now)
            if asksAll || usesPhases && !member.hasCopy {
                due = now
            } else if usesPhases {
                due = now + RefreshInterval.phase(of: member.item.url, in: interval)
            }
            if !isUrgent, let earliest = member.earliest { due = max(due, earliest) }
            member.due = due
            let isHeldUp = self.isHeldUp(member, at: now)
            if let end = pauseEnd(of: member.item.host) { due = max(due, end) }
            due = permitted(due)
            member.due = due
            if due < limit { (member.step, member.isHeldUp) = (.waiting, isHeldUp) }
            set(member)
        }
        isUrgent = false
    }

    /// - Parameters:
    ///   - isSwitched: whether readers have the bodies of the stage.
    ///   - pause: the time for which no member is asked for again. Without effect if the shortest interval is longer.
    mutating func endRound(_ now: Timestamp, isSwitched: Bool, pause: Duration = .zero) {
        // A tight loop would follow if the members were due at once.
        let next = now + max(rules.interval.shortest, pause)
        let catchUp = now + min(rules.interval.shortest, Self.catchUpPause)
        round = nil
        endsRound = false
        (queue, asked) = (DueQueue(), Heap())
        for var member in Array(members.values) where member.step != .resting {
            if member.isStaged, !isSwitched { member.discardBody(due: next) }
            member.isStaged = false
            // The body of a member that is still being asked for belongs to the stage, which has ended.
            if member.step != .settled { member.due = max(member.due, isSwitched ? catchUp : next) }
            if pause > rules.interval.shortest { member.earliest = max(member.earliest ?? next, next) }
            member.step = .resting
            member.endRequest()
            set(member)
        }
        membersDue = earliestDue()
        if isRequestedAgain {
            (isRequestedAgain, isUrgent) = (false, true)
            sourceDue = now
        }
    }

    /// The first date at which a member may be asked for, outside of rounds.
    func earliestDue() -> Timestamp? {
        members.values.lazy.filter { !$0.isStopped }.map { member in
            let due = max(member.due, pauseEnd(of: member.item.host) ?? member.due)
            return scheduled(max(due, member.earliest ?? due))
        }.min()
    }

    mutating func requestRefresh(_ now: Timestamp) {
        accessLoss?.lookDate = now
        guard round != nil else {
            if !isAskingSource { sourceDue = now }
            isUrgent = true
            return
        }
        isRequestedAgain = true
        round?.isUrgent = true
        for var member in Array(members.values) where member.step == .waiting && member.due > now {
            member.due = max(now, pauseEnd(of: member.item.host) ?? now)
            set(member)
        }
    }

    /// The time after a round until the next one asks for the members that failed in it, unless the interval is
    /// shorter.
    static let catchUpPause: Duration = .seconds(900)
}
