import Primitives

/// The secret of the requests. An origin takes a request without it for an anonymous one, and may answer that a private
/// resource does not exist. The set would then lose its copies.
extension RefreshMachine {
    struct AccessLoss: Hashable, Sendable {
        var problem: MemberProblem
        var lookDate: Timestamp
    }

    /// The reason for which the set is not refreshed: the shell lacks the secret of the requests, or the source gave no
    /// list; otherwise `nil`.
    package var problem: MemberProblem? { accessLoss?.problem ?? sourceProblem }

    /// The time from which on the shell looks for the missing secret again; `nil` unless it is missing.
    package var lookDate: Timestamp? { accessLoss?.lookDate }

    mutating func accessLost(_ reason: String, _ lookDate: Timestamp, _ now: Timestamp) {
        let problem = MemberProblem(reason: reason, since: accessLoss?.problem.since ?? now)
        accessLoss = AccessLoss(problem: problem, lookDate: lookDate)
        for var member in Array(members.values) where member.step == .waiting && !member.isHeldUp {
            member.isHeldUp = true
            set(member)
        }
    }

    mutating func accessRegained(_ now: Timestamp) {
        guard accessLoss != nil else { return }
        accessLoss = nil
        for var member in Array(members.values) where member.step == .waiting && member.isHeldUp {
            member.isHeldUp = isHeldUp(member, at: now)
            guard !member.isHeldUp else { continue }
            set(member)
        }
    }

    /// The answers to requests with the old secret do not stand: the source is due if its last list was no list, and so
    /// are the members that the origin refused to the caller. Pauses of hosts and the quiet hours hold nevertheless.
    mutating func secretChanged(_ now: Timestamp) {
        accessRegained(now)
        if isAskingSource { sourceHasNewSecret = true } else if sourceProblem != nil { askSourceAgain(now) }
        for var member in Array(members.values) {
            if member.step == .asking {
                member.hasNewSecret = true
            } else if member.problem?.isForbidden == true {
                member.earliest = nil
                let due = member.step == .waiting ? max(now, pauseEnd(of: member.item.host) ?? now) : now
                member.due = min(member.due, permitted(due))
            } else {
                continue
            }
            set(member)
        }
        if round == nil { membersDue = earliestDue() }
    }

    mutating func askSourceAgain(_ now: Timestamp) {
        sourceEarliest = nil
        sourceDue = min(sourceDue, scheduled(now))
    }

    /// Whether a member that is due waits for its host or for the secret.
    func isHeldUp(_ member: Member, at now: Timestamp) -> Bool {
        accessLoss != nil || troubles[member.item.host]?.holdsUp(member.due, at: now) ?? false
    }
}
