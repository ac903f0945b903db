import Primitives

/// Steps of the wall clock. All dates of the machine are compared with the wall clock, because they survive restarts.
extension RefreshMachine {
    /// Moves all dates with the clock when it has gone back, so that each member waits for the rest of its time and no
    /// longer. Without this, a clock that goes back by a day would stop the subscription for a day. Each event does so
    /// first. But a machine at rest gets no event before ``nextDate``, so the shell calls this at each turn of its
    /// timer.
    package mutating func observe(_ now: Timestamp) {
        let step = clock.observe(now)
        guard step != .zero else { return }
        sourceDue = sourceDue + step
        sourceEarliest = sourceEarliest.map { $0 + step }
        sourceProblem = sourceProblem?.moved(by: step)
        accessLoss = accessLoss.map { .init(problem: $0.problem.moved(by: step), lookDate: $0.lookDate + step) }
        regularDue = regularDue.map { $0 + step }
        membersDue = membersDue.map { $0 + step }
        noRoomSince = noRoomSince.map { $0 + step }
        if let start = round?.start { round?.start = start + step }
        if let start = round?.delayStart { round?.delayStart = start + step }
        for (host, trouble) in troubles { troubles[host]?.pauseEnd = trouble.pauseEnd.map { $0 + step } }
        (queue, asked) = (DueQueue(), Heap())
        leaving = leaving.mapValues { $0.moved(by: step) }
        changes = nil
        for member in Array(members.values) { set(member.moved(by: step)) }
    }

    /// Brings dates nearer that this definition could not have set, because an earlier one had a longer interval.
    mutating func limitDates(_ now: Timestamp) {
        let latest = now + rules.interval.longest
        sourceDue = min(sourceDue, scheduled(max(latest, sourceEarliest ?? latest)))
        regularDue = regularDue.map { min($0, scheduled(latest)) }
        for (host, trouble) in troubles {
            troubles[host]?.pauseEnd = trouble.pauseEnd.map { min($0, now + HostPacer.longestPause) }
        }
        for var member in Array(members.values) {
            let pause = max(member.earliest ?? latest, pauseEnd(of: member.item.host) ?? latest)
            member.due = min(member.due, scheduled(max(latest, pause)))
            set(member)
        }
    }
}

extension RefreshMachine.Member {
    func moved(by step: Duration) -> Self {
        var copy = self
        copy.due = due + step
        copy.earliest = earliest.map { $0 + step }
        copy.asked = asked.map { $0 + step }
        copy.problem = problem?.moved(by: step)
        return copy
    }
}

extension MemberProblem {
    func moved(by step: Duration) -> MemberProblem {
        var copy = self
        copy.since = since + step
        return copy
    }
}
