import Primitives

/// Hosts that want a pause, or do not answer. Their members must not hold back the members of other hosts.
extension RefreshMachine {
    struct HostTrouble: Hashable, Sendable {
        /// The failures in a row, over all members, from which on the host counts as down.
        static let tolerance = 3

        var failures = 0
        /// Whether a request to the host takes so long that the other ones may never have a turn.
        var isSlow = false
        /// The host wants no request before this time; `nil` without a wish. The end of the pause alone does not show
        /// that the host answers again.
        var pauseEnd: Timestamp?

        /// Whether a request that is due at a time has to wait for the host.
        func holdsUp(_ due: Timestamp, at now: Timestamp) -> Bool {
            if let pauseEnd, due < max(pauseEnd, now) { return true }
            return isSlow || failures >= Self.tolerance && due <= now
        }
    }

    /// The end of a host's pause; `nil` without one.
    func pauseEnd(of host: String) -> Timestamp? { troubles[host]?.pauseEnd }

    mutating func hostPaused(_ host: String, until date: Timestamp, _ now: Timestamp) {
        let end = min(date, now + HostPacer.longestPause)
        guard end > now, end > pauseEnd(of: host) ?? now else { return }
        troubles[host, default: HostTrouble()].pauseEnd = end
        if round == nil { membersDue = earliestDue() } else { holdUp(host, now) }
    }

    mutating func hostFailed(_ host: String, _ now: Timestamp) {
        troubles[host, default: HostTrouble()].failures += 1
        holdUp(host, now)
    }

    mutating func hostIsSlow(_ host: String, _ now: Timestamp) {
        troubles[host, default: HostTrouble()].isSlow = true
        holdUp(host, now)
    }

    /// The host has answered a request. A pause lasts nevertheless, because the request may be older.
    mutating func hostAnswered(_ host: String, _ now: Timestamp) {
        guard var trouble = troubles[host] else { return }
        (trouble.failures, trouble.isSlow) = (0, false)
        if let end = trouble.pauseEnd, end <= now { trouble.pauseEnd = nil }
        troubles[host] = trouble.pauseEnd == nil ? nil : trouble
        guard trouble.pauseEnd == nil, accessLoss == nil else { return }
        for var member in Array(members.values) where member.isHeldUp && member.item.host == host {
            member.isHeldUp = false
            set(member)
        }
    }

    /// Marks the waiting members for which the host has no time now, so that they delay the switch as failing ones do.
    private mutating func holdUp(_ host: String, _ now: Timestamp) {
        guard let trouble = troubles[host] else { return }
        for var member in Array(members.values) where member.item.host == host && member.step == .waiting {
            guard trouble.holdsUp(member.due, at: now) else { continue }
            let due = trouble.pauseEnd.map { permitted(max(member.due, $0)) } ?? member.due
            guard !member.isHeldUp || due != member.due else { continue }
            (member.isHeldUp, member.due) = (true, due)
            set(member)
        }
    }
}
