import Primitives

/// Pauses, in which an origin wants no request, as with 429 or `Retry-After` (RFC 9110 §10.2.3).
extension HostPacer {
    package static let longestPause: Duration = .seconds(86_400)
    /// The most paused hosts of a namespace. Further ones are not remembered, because callers choose the hosts.
    package static let pauseLimit = 1000

    /// Begins a pause of at most a day. An earlier pause of the host does not become shorter.
    package mutating func pause(
        _ host: String, in namespace: String = "", for time: Duration, at now: Timestamp
    ) {
        observe(now)
        let earlier = pauses[namespace]?[host]
        let end = now + min(max(time, .zero), Self.longestPause)
        guard end > max(now, earlier ?? now) else { return }
        if earlier == nil, pauses[namespace]?.count ?? 0 >= Self.pauseLimit {
            forgetEndedPauses(of: namespace, at: now)
            guard pauses[namespace]?.count ?? 0 < Self.pauseLimit else { return }
        }
        pauses[namespace, default: [:]][host] = end
    }

    /// The end of a host's pause; `nil` without one.
    package mutating func pauseEnd(of host: String, in namespace: String = "", at now: Timestamp) -> Timestamp? {
        observe(now)
        return pauses[namespace]?[host].flatMap { $0 > now ? $0 : nil }
    }

    /// The ends of a namespace's pauses, by hosts.
    package mutating func pauses(in namespace: String, at now: Timestamp) -> [String: Timestamp] {
        observe(now)
        return pauses[namespace]?.filter { $0.value > now } ?? [:]
    }

    /// The pauses of all namespaces, which must survive a restart.
    package mutating func allPauses(at now: Timestamp) -> [PausedHost: Timestamp] {
        observe(now)
        var all: [PausedHost: Timestamp] = [:]
        for (namespace, pauses) in pauses {
            for (host, end) in pauses where end > now { all[PausedHost(host, in: namespace)] = end }
        }
        return all
    }

    /// A later namespace with the name must not get the pauses of a removed one.
    package mutating func forgetPauses(in namespace: String) { pauses[namespace] = nil }

    mutating func forgetEndedPauses(of namespace: String, at now: Timestamp) {
        let left = pauses[namespace]?.filter { $0.value > now } ?? [:]
        pauses[namespace] = left.isEmpty ? nil : left
    }
}
