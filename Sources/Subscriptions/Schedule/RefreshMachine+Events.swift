import Primitives

extension RefreshMachine {
    /// `random`: from 0 to 1, for the jitter of retries.
    package mutating func handle(_ event: Event, at now: Timestamp, random: Double = 0.5) -> [Action] {
        observe(now)
        switch event {
        case .sourceAnswered(let answer):
            guard isAskingSource else { return [] }
            sourceAnswered(answer, now)
        case .memberAnswered(let key, let ticket, let answer):
            guard ticket == openTicket, members[key]?.step == .asking else { return [] }
            if case .noRoom = answer {
                // The running switch still needs the stage.
                guard isSwitching else { return lackRoom(now) }
                round?.lacksRoom = true
                return []
            }
            answered(key, answer, now, random)
            guard let member = members[key] else { break }
            let host = member.item.host
            // A refusal that does not stand leaves the member waiting without a failure.
            let isFailure = member.step != .settled && member.failures > 0
            if isFailure { hostFailed(host, now) } else { hostAnswered(host, now) }
        case .switched(let lost):
            guard isSwitching else { return [] }
            switched(lost, now)
            if round?.lacksRoom == true { return lackRoom(now) }
        case .switchFailed(let isRoom):
            guard isSwitching else { return [] }
            isSwitching = false
            joining = []
            if isRoom || round?.lacksRoom == true { return lackRoom(now) }
            round?.hasFailedSwitch = true
            if endsRound {
                endRound(now, isSwitched: false)
                return [.dropStage]
            }
        case .hostPaused(let host, let date): hostPaused(host, until: date, now)
        case .sourcePaused(let date): sourcePaused(until: date, now)
        case .accessLost(let reason, let date): accessLost(reason, date, now)
        case .accessRegained: accessRegained(now)
        case .secretChanged: secretChanged(now)
        case .refreshRequested: requestRefresh(now)
        case .time: postpone(now)
        }
        return advance(now)
    }

    // MARK: - The source

    private mutating func sourceAnswered(_ answer: SourceAnswer, _ now: Timestamp) {
        isAskingSource = false
        defer { sourceHasNewSecret = false }
        var pause: Duration = .zero
        var isChanged: Bool?
        switch answer {
        case .items(let items, let least):
            pause = rules.interval.wish(least, isFailure: false)
            isChanged = take(items, now)
        case .unchanged(let least):
            sourceProblem = nil
            (pause, isChanged) = (rules.interval.wish(least, isFailure: false), false)
        case .failed(let reason, let wish):
            // The source stays due, and is asked as soon as there is the secret.
            guard accessLoss == nil else { return }
            note(reason, now)
            pause = min(wish ?? .zero, HostPacer.longestPause)
        }
        let interval = rules.interval.next(after: sourceInterval, isChanged: isChanged, least: pause)
        if isChanged != nil { sourceInterval = interval }
        let next = isChanged == nil ? max(rules.interval.shortest, pause) : interval
        beginRound(now)
        round?.hasEffect = isChanged == true
        sourceDue = scheduled(now + next)
        sourceEarliest = pause > .zero ? now + pause : nil
        if isChanged == nil, sourceHasNewSecret { askSourceAgain(now) }
    }

    /// Returns whether the list differs from the last one; `nil` for a list that is not taken.
    private mutating func take(_ items: [WantedItem], _ now: Timestamp) -> Bool? {
        var seen: Set<String> = []
        let new = items.filter { seen.insert($0.key).inserted }
        guard !new.isEmpty else {
            note("the source has no items", now)
            return nil
        }
        guard rules.allowsShrink || isRedefined || new.count * 2 >= wanted.count else {
            note("the source lists \(new.count) items instead of \(wanted.count); allowShrink permits this", now)
            return nil
        }
        (sourceProblem, isRedefined) = (nil, false)
        let keys = new.map(\.key)
        let isChanged = keys != wanted
        if isChanged { changes = nil }
        for key in wanted where !seen.contains(key) {
            roomless.remove(key)
            if let member = remove(key), member.hasCopy { leaving[key] = member }
        }
        for item in new {
            let earlier = members[item.key] ?? leaving.removeValue(forKey: item.key)
            var member = earlier ?? Member(item: item, hasCopy: copies.remove(item.key) != nil, due: now)
            // The same entry may be at another address by now.
            member.item = item
            set(member)
        }
        wanted = keys
        return isChanged
    }

    /// The source cannot be asked before the end of its host's pause. Members do not wait for that.
    private mutating func sourcePaused(until date: Timestamp, _ now: Timestamp) {
        guard !isAskingSource, round == nil else { return }
        sourceDue = max(sourceDue, min(date, now + HostPacer.longestPause))
        if isUrgent, membersDue != nil { membersDue = now }
    }

    private mutating func note(_ reason: String, _ now: Timestamp) {
        sourceProblem = MemberProblem(reason: reason, since: sourceProblem?.since ?? now)
    }

    /// Ends the round without a switch: the old generation stays whole.
    private mutating func lackRoom(_ now: Timestamp) -> [Action] {
        let since = noRoomSince ?? now
        noRoomSince = since
        let keys = round?.foundNoRoom ?? []
        // The members share the lack, so the next round asks for them together. One alone has its growing pause.
        let shortest = rules.interval.shortest
        let pause = max(shortest, min(now - since, Self.catchUpPause))
        for key in keys where keys.count > 1 {
            guard var member = members[key] else { continue }
            member.earliest = pause > shortest ? now + pause : nil
            member.due = min(member.due, now + pause)
            set(member)
        }
        endRound(now, isSwitched: false, pause: pause)
        return [.dropStage]
    }

    // MARK: - Members

    private mutating func answered(_ key: String, _ answer: MemberAnswer, _ now: Timestamp, _ random: Double) {
        guard var member = members[key] else { return }
        defer { set(member) }
        var answer = answer
        if case .confirmed = answer, !member.hasCopy {
            // A switch has lost the copy since the request began.
            answer = .failed(reason: "the origin confirms a copy that has been removed", pause: nil)
        }
        var (isChanged, least): (Bool?, Duration) = (nil, .zero)
        var isRoomless = false
        let hasNewSecret = member.hasNewSecret
        member.step = .settled
        member.endRequest()
        switch answer {
        case .confirmed(let pause):
            (member.problem, isChanged, least) = (nil, false, pause)
        case .staged(let isNew, let pause):
            (member.problem, isChanged, least) = (nil, isNew, pause)
            member.isStaged = true
        case .gone(let reason, let forever):
            member.problem = MemberProblem(
                reason: reason, since: member.problem?.since ?? now, isLasting: true)
            member.isStopped = forever
        case .forbidden(let reason):
            member.problem = MemberProblem(
                reason: reason, since: member.problem?.since ?? now, isForbidden: true)
            if hasNewSecret {
                (member.step, member.failures) = (.waiting, 0)
                wait(&member, now)
                return
            }
            least = HostPacer.longestPause
        case .refused(let reason):
            member.problem = MemberProblem(reason: reason, since: member.problem?.since ?? now)
            least = HostPacer.longestPause
        case .noRoomAlone(let reason):
            let problem = MemberProblem(reason: reason, since: member.problem?.since ?? now)
            member.problem = problem
            round?.foundNoRoom.insert(key)
            isRoomless = true
            // Each attempt may receive a large part of the body, so the attempts become fewer: the next one is after
            // as much time again as the problem has lasted.
            least = min(now - problem.since, HostPacer.longestPause)
        case .failed(let reason, let pause):
            member.problem = MemberProblem(reason: reason, since: member.problem?.since ?? now)
            member.failures += 1
            member.step = .waiting
            // Full jitter, from 1 s to 1 min.
            let bound = min(Double(1 << min(member.failures, 6)), 60)
            let wish = min(pause ?? .zero, HostPacer.longestPause)
            member.due = now + max(.seconds(1), max(.clamping(seconds: bound * random), wish))
            if let end = pauseEnd(of: member.item.host) { member.due = max(member.due, end) }
            member.due = permitted(member.due)
            return
        case .noRoom: return
        }
        if isRoomless { roomless.insert(key) } else { roomless.remove(key) }
        if isChanged != nil {
            member.failures = 0
            round?.hasSuccess = true
        }
        least = rules.interval.wish(least, isFailure: isChanged == nil)
        let interval = rules.interval.next(after: member.interval, isChanged: isChanged, least: least)
        if isChanged != nil { member.interval = interval }
        member.due = now + interval
        member.earliest = least > .zero ? now + least : nil
    }

    // MARK: - The switch

    /// Starts a switch if all members that it needs have answered, or failed for too long.
    private mutating func advance(_ now: Timestamp) -> [Action] {
        if roundIsDue(now) { beginRound(now) }
        guard !isSwitching, round != nil else { return [] }
        noteSlowRequests(now)
        if tally.pending == 0 { return finishRound(now) }
        if tally.fine > 0 {
            round?.delayStart = nil
            let isJoining = (!leaving.isEmpty || tally.joining > 0) && tally.newcomers == 0
            return isJoining && round?.hasFailedSwitch == false ? publish(ends: false) : []
        }
        let start = round?.delayStart ?? now
        round?.delayStart = start
        return start + rules.maxDelay <= now ? finishRound(now) : []
    }

    /// Whether most members have found no room at their last attempts.
    private var lacksRoom: Bool { roomless.count * 2 > wanted.count }

    private mutating func finishRound(_ now: Timestamp) -> [Action] {
        // A round may have asked for a few members only. The set lacks room if most of its members do.
        let foundOnlyLack = round.map { !$0.foundNoRoom.isEmpty && !$0.hasSuccess } ?? false
        if foundOnlyLack, lacksRoom { return lackRoom(now) }
        if round?.hasEffect == true || !leaving.isEmpty { return publish(ends: true) }
        endRound(now, isSwitched: true)
        return []
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
        (isSwitching, endsRound) = (true, ends)
        return [.publish(kept: kept, changed: changed, ends: ends)]
    }

    private mutating func switched(_ lost: [String: MemberLoss], _ now: Timestamp) {
        isSwitching = false
        let newcomers = joining
        for key in joining {
            guard var member = members[key] else { continue }
            // The member may have been asked for again meanwhile, but not settled another time.
            member.hasCopy = !member.hasCopy
            if member.hasCopy, member.step == .settled { (member.step, member.isStaged) = (.resting, false) }
            set(member)
        }
        if !leaving.isEmpty { changes = nil }
        (joining, leaving, copies) = ([], [:], [])
        noRoomSince = lacksRoom ? noRoomSince ?? now : nil
        let isFirstLoss = round?.isRepetition == false
        for (key, loss) in lost {
            guard var member = members[key] else { continue }
            member.hasCopy = member.hasCopy && loss.keepsCopy && !newcomers.contains(key)
            if member.problem == nil { member.problem = MemberProblem(reason: loss.reason, since: now) }
            if loss.isPassing, isFirstLoss, member.step == .settled || member.step == .resting {
                askAgain(&member, now)
            } else if member.step != .waiting {
                // Not at once, because the loss may repeat itself.
                member.due = min(member.due, now + rules.interval.shortest)
            }
            member.earliest = nil
            set(member)
        }
        if endsRound { endRound(now, isSwitched: true) }
    }

    /// Makes a lost member due at once: in the round if it goes on, and otherwise in a round of its own.
    private mutating func askAgain(_ member: inout Member, _ now: Timestamp) {
        guard !endsRound else {
            member.due = max(now, pauseEnd(of: member.item.host) ?? now)
            return repeatsLosses = true
        }
        (member.step, member.isStaged) = (.waiting, false)
        wait(&member, now)
        round?.isRepetition = true
    }

    /// Makes a member of the round due as soon as its host has time for it.
    private func wait(_ member: inout Member, _ now: Timestamp) {
        member.due = now
        member.isHeldUp = isHeldUp(member, at: now)
        member.due = permitted(max(now, pauseEnd(of: member.item.host) ?? now))
    }
}
