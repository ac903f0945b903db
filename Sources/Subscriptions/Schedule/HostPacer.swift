import Primitives

/// Decides when requests to hosts may begin: a pure value, which all subscriptions of the server share. Downloads keep
/// only pauses in a pacer of their own.
///
/// ```swift
/// switch pacer.take("news.example", PacingLimits(), at: now) {
/// case .go: send()                    // and then pacer.ended("news.example")
/// case .wait(until: let date): wake(at: date)
/// }
/// ```
package struct HostPacer: Sendable {
    private struct Host: Sendable {
        /// The requests that have not ended.
        var running = 0
        /// No request begins earlier: `minGap` after the last one, or later because of a pause.
        var next: Timestamp
        var pauseEnd: Timestamp?
    }

    package enum Turn: Hashable, Sendable {
        /// The request begins now; report its end with ``HostPacer/ended(_:)``.
        case go
        /// `nil`: when a running request of the host ends.
        case wait(until: Timestamp?)
    }

    private var hosts: [String: Host] = [:]
    private var clock: ClockWatch?
    /// The latest time at which an earlier process may have sent requests; `nil`: there was none.
    private var restart: Timestamp?

    package init() {}

    /// A pacer after a restart. `pauses`: from ``pauses(at:)`` at `date`. Each one lasts at most for the rest that it
    /// had then, even if the clock has gone back since.
    package init(pauses: [String: Timestamp], savedAt date: Timestamp, at now: Timestamp) {
        for (host, end) in pauses where end > date { pause(host, for: end - date, at: date) }
        observe(now)
    }

    /// Notes that an earlier process may have sent requests until now. The first request to each host then keeps the
    /// gap to them, so that a process that ends again and again sends no more requests than one that goes on.
    package mutating func restarted(at now: Timestamp) {
        observe(now)
        restart = now
    }

    /// The number of hosts with a running request, a gap or a pause.
    package var count: Int { hosts.count }

    package mutating func take(_ host: String, _ limits: PacingLimits, at now: Timestamp) -> Turn {
        observe(now)
        var state = hosts[host] ?? Host(next: max(now, restart.map { $0 + limits.gap } ?? now))
        if state.running >= limits.concurrency { return .wait(until: nil) }
        if state.next > now { return .wait(until: state.next) }
        state.running += 1
        state.next = now + limits.gap
        state.pauseEnd = nil
        hosts[host] = state
        return .go
    }

    package mutating func ended(_ host: String) {
        hosts[host]?.running -= 1
    }

    /// The origin wants no request for some time, as with 429 or `Retry-After` (RFC 9110 §10.2.3); at most a day.
    package mutating func pause(_ host: String, for time: Duration, at now: Timestamp) {
        observe(now)
        let end = now + min(max(time, .zero), Self.longestPause)
        var state = hosts[host] ?? Host(next: now)
        guard end > state.next else { return }
        (state.next, state.pauseEnd) = (end, end)
        hosts[host] = state
    }

    /// The end of a host's pause; `nil` without one.
    package mutating func pauseEnd(of host: String, at now: Timestamp) -> Timestamp? {
        observe(now)
        return hosts[host]?.pauseEnd.flatMap { $0 > now ? $0 : nil }
    }

    /// The pauses, which must survive a restart.
    package mutating func pauses(at now: Timestamp) -> [String: Timestamp] {
        observe(now)
        return hosts.compactMapValues { $0.pauseEnd }.filter { $0.value > now }
    }

    /// Forgets hosts that need no pacing any more, so that the table does not grow for ever.
    package mutating func forget(at now: Timestamp) {
        observe(now)
        hosts = hosts.filter { $0.value.running > 0 || $0.value.next > now }
    }

    /// Moves all dates with the clock when it has gone back, so that no gap and no pause becomes longer. Every other
    /// call with a date does so first, because a date from before the step would reach the caller. But the time since
    /// the last call hides a step that is shorter, so the shell calls ``forget(at:)`` at each turn of its timer.
    package mutating func observe(_ now: Timestamp) {
        guard var clock else {
            self.clock = ClockWatch(now)
            return
        }
        let step = clock.observe(now)
        self.clock = clock
        guard step != .zero else { return }
        restart = restart.map { $0 + step }
        hosts = hosts.mapValues { host in
            var host = host
            host.next = host.next + step
            host.pauseEnd = host.pauseEnd.map { $0 + step }
            return host
        }
    }

    package static let longestPause: Duration = .seconds(86_400)
}

/// The limits of a subscription for each host.
package struct PacingLimits: Hashable, Sendable {
    /// The most requests at the same time.
    package var concurrency = 1
    /// The shortest time between the beginnings of two requests.
    package var gap: Duration = .seconds(1)

    package init(concurrency: Int = 1, gap: Duration = .seconds(1)) {
        self.concurrency = concurrency
        self.gap = gap
    }
}
