import Primitives

extension RefreshMachine {
    /// `random`: from 0 to 1, for the jitter of retries.
    package mutating func handle(_ event: Event, at now: Timestamp, random: Double = 0.5) -> [Action] {
        switch event {
        case .sourceAnswered(let answer): sourceAnswered(answer, now)
        case .memberAnswered(let key, let answer):
            guard members[key]?.step == .asking else { return [] }
            if case .noRoom = answer { return lackRoom(now) }
            answered(key, answer, now, random)
        case .switched(let lost): switched(lost, now)
        case .switchFailed(let isRoom):
            (isSwitching, hasRemovals) = (false, hasRemovals || switchesRemovals)
            joining = []
            if isRoom { return lackRoom(now) }
            round?.hasFailedSwitch = true
            if endsRound {
                endRound(now)
                return [.dropStage]
            }
        case .refreshRequested: requestRefresh(now)
        case .time: break
        }
        return advance(now)
    }

    // MARK: - The source

    private mutating func sourceAnswered(_ answer: SourceAnswer, _ now: Timestamp) {
        isAskingSource = false
        var pause: Duration = .zero
        var isChanged: Bool?
        switch answer {
        case .items(let items, let least):
            pause = least
            isChanged = take(items, now)
        case .unchanged(let least):
            sourceProblem = nil
            (pause, isChanged) = (least, false)
        case .failed(let reason, let wish):
            note(reason, now)
            pause = min(wish ?? .zero, HostPacer.longestPause)
        }
        let interval = rules.interval.next(after: sourceInterval, isChanged: isChanged, least: pause)
        if isChanged != nil { sourceInterval = interval }
        let next = isChanged == nil ? max(rules.interval.shortest, pause) : interval
        beginRound(now)
        sourceDue = rules.quietHours?.next(from: now + next) ?? now + next
    }

    /// Returns whether the list differs from the last one; `nil` for a list that is not taken.
    private mutating func take(_ items: [WantedItem], _ now: Timestamp) -> Bool? {
        var seen: Set<String> = []
        let new = items.filter { seen.insert($0.key).inserted }
        guard !new.isEmpty else {
            note("the source has no items", now)
            return nil
        }
        guard rules.allowsShrink || new.count * 2 >= wanted.count else {
            note("the source lists \(new.count) items instead of \(wanted.count); allowShrink permits this", now)
            return nil
        }
        sourceProblem = nil
        let keys = new.map(\.key)
        let isChanged = keys != wanted
        for key in wanted where !seen.contains(key) {
            if remove(key)?.hasCopy == true { hasRemovals = true }
        }
        for item in new where members[item.key] == nil {
            set(Member(item: item, hasCopy: false, step: .waiting, due: now))
        }
        wanted = keys
        return isChanged
    }

    private mutating func note(_ reason: String, _ now: Timestamp) {
        sourceProblem = MemberProblem(reason: reason, since: sourceProblem?.since ?? now)
    }

    // MARK: - Rounds

    private mutating func beginRound(_ now: Timestamp) {
        round = Round(start: now)
        let interval = rules.interval.shortest
        // After a downtime all members are overdue, and only the pacing spreads them.
        let asksAll = isUrgent || sourceDue + interval < now
        for key in wanted {
            guard var member = members[key], member.step == .resting, !member.isStopped else { continue }
            member.failures = 0
            var due = now
            if !isUrgent, let earliest = member.earliest { due = max(due, earliest) }
            if member.hasCopy, !asksAll {
                switch rules.interval {
                case .fixed: due = max(due, now + RefreshInterval.phase(of: member.item.url, in: interval))
                case .adaptive: due = max(due, member.due)
                }
            }
            guard due < now + interval else { continue }
            (member.step, member.due) = (.waiting, due)
            set(member)
        }
        isUrgent = false
    }

    private mutating func endRound(_ now: Timestamp) {
        round = nil
        endsRound = false
        // The body of a member that is still being asked for belongs to the stage, which has ended.
        for var member in Array(members.values) where member.step != .resting {
            member.step = .resting
            set(member)
        }
        if isRequestedAgain {
            (isRequestedAgain, isUrgent) = (false, true)
            sourceDue = now
        }
    }

    private mutating func requestRefresh(_ now: Timestamp) {
        guard round != nil else {
            if !isAskingSource { sourceDue = now }
            isUrgent = true
            return
        }
        isRequestedAgain = true
        for var member in Array(members.values) where member.step == .waiting && member.due > now {
            member.due = now
            set(member)
        }
    }

    /// Ends the round without a switch: the old generation stays whole.
    private mutating func lackRoom(_ now: Timestamp) -> [Action] {
        noRoomSince = noRoomSince ?? now
        endRound(now)
        return [.dropStage]
    }

    // MARK: - Members

    private mutating func answered(_ key: String, _ answer: MemberAnswer, _ now: Timestamp, _ random: Double) {
        guard var member = members[key] else { return }
        defer { set(member) }
        var (isChanged, least): (Bool?, Duration) = (nil, .zero)
        member.step = .settled
        switch answer {
        case .confirmed(let pause):
            (member.problem, isChanged, least) = (nil, false, pause)
        case .staged(let isNew, let pause):
            (member.problem, isChanged, least) = (nil, isNew, pause)
        case .gone(let reason, let forever):
            member.problem = MemberProblem(
                reason: reason, since: member.problem?.since ?? now, isLasting: true)
            member.isStopped = forever
        case .refused(let reason):
            member.problem = MemberProblem(reason: reason, since: member.problem?.since ?? now)
            least = HostPacer.longestPause
        case .failed(let reason, let pause):
            member.problem = MemberProblem(reason: reason, since: member.problem?.since ?? now)
            member.failures += 1
            member.step = .waiting
            // Full jitter, from 1 s to 1 min. The pacing adds the pause that the origin asks for.
            let bound = min(Double(1 << min(member.failures, 6)), 60)
            member.due = now + max(.seconds(1), max(.clamping(seconds: bound * random), pause ?? .zero))
            return
        case .noRoom: return
        }
        if isChanged != nil { member.failures = 0 }
        let interval = rules.interval.next(after: member.interval, isChanged: isChanged, least: least)
        if isChanged != nil { member.interval = interval }
        member.due = now + interval
        member.earliest = least > .zero ? now + least : nil
    }

    // MARK: - The switch

    /// Starts a switch if all members that it needs have answered, or failed for too long.
    private mutating func advance(_ now: Timestamp) -> [Action] {
        guard !isSwitching, round != nil else { return [] }
        if tally.pending == 0 { return publish(ends: true) }
        if tally.fine > 0 {
            round?.delayStart = nil
            let isJoining = (hasRemovals || tally.joining > 0) && tally.newcomers == 0
            return isJoining && round?.hasFailedSwitch == false ? publish(ends: false) : []
        }
        let start = round?.delayStart ?? now
        round?.delayStart = start
        return start + rules.maxDelay <= now ? publish(ends: true) : []
    }

    private mutating func publish(ends: Bool) -> [Action] {
        var (kept, changed): ([String], [String]) = ([], [])
        joining = []
        for key in wanted {
            guard let member = members[key] else { continue }
            let isSettled = member.step == .settled && member.problem == nil
            if member.willHaveCopy != member.hasCopy { joining.insert(key) }
            guard member.willHaveCopy else { continue }
            // A switch within the round leaves the copies of the others as they are.
            if isSettled && (ends || !member.hasCopy) { changed.append(key) } else { kept.append(key) }
        }
        (isSwitching, endsRound, switchesRemovals, hasRemovals) = (true, ends, hasRemovals, false)
        return [.publish(kept: kept, changed: changed, ends: ends)]
    }

    private mutating func switched(_ lost: [String: String], _ now: Timestamp) {
        isSwitching = false
        for key in joining {
            guard var member = members[key] else { continue }
            // The member may have been asked for again meanwhile, but not settled another time.
            member.hasCopy = !member.hasCopy
            if member.hasCopy, member.step == .settled { member.step = .resting }
            set(member)
        }
        joining = []
        noRoomSince = nil
        for (key, loss) in lost {
            guard var member = members[key] else { continue }
            member.hasCopy = false
            if member.problem == nil { member.problem = MemberProblem(reason: loss, since: now) }
            set(member)
        }
        if endsRound { endRound(now) }
    }
}
