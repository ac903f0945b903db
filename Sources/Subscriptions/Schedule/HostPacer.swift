import Primitives

/// Decides when requests to hosts may begin: a pure value, which all subscriptions of the server share. Downloads keep
/// only pauses in a pacer of their own.
///
/// ```swift
/// switch pacer.take("news.example", PacingLimits(), by: subscription, at: now) {
/// case .go: send()                    // and then pacer.ended("news.example")
/// case .wait(until: let date): wake(at: date)
/// }
/// // When all callers have asked:
/// for host in pacer.endTurn() { wakeCallers(of: host) }
/// ```
///
/// Each caller has limits of its own. The gap counts from the last request of any caller, but a caller that waits for
/// its gap does not wait longer because of requests that begin meanwhile. Callers that wait for the end of requests, or
/// longer than their gaps, have places in a line: no caller begins a request before those that came earlier. So neither
/// callers with many requests at a time nor callers with a short gap can keep out another caller.
///
/// Invariants:
/// - After ``endTurn()``, the first place of a line has an end, or its host has a running request, or ``endTurn()`` has
///   named the host. In each case the place is used or lost after that. So no caller waits for ever for another one
///   that no longer asks.
/// - No request of a caller begins earlier than its gap after an earlier request of the same caller.
package struct HostPacer: Sendable {
    /// The place of a caller in the line of a host.
    private struct Place: Sendable {
        var caller: Int64
        /// For a caller that waits for a date, at which it must ask before the end; `nil`: it waits for the end of a
        /// request.
        var end: Timestamp?
        /// Whether the caller has asked since the last occasion.
        var isRenewed = true
    }

    private struct Host: Sendable {
        /// The requests that have not ended.
        var running = 0
        /// The beginning of the last request; `nil`: there was none.
        var lastStart: Timestamp?
        /// The gap of the caller of the last request.
        var lastGap: Duration = .zero
        /// The longest gap of a caller.
        var longestGap: Duration = .zero
        /// The dates at which the gaps of waiting callers end.
        var dues: [Int64: Timestamp] = [:]
        var line: [Place] = []
        var pauseEnd: Timestamp?

        /// The date at which the gap of a caller ends; `nil`: a request may begin.
        mutating func gapEnd(of caller: Int64, _ gap: Duration, at now: Timestamp) -> Timestamp? {
            longestGap = max(longestGap, gap)
            guard let lastStart, lastStart + gap > now else { return nil }
            let due = min(dues[caller] ?? .distantFuture, lastStart + gap)
            dues[caller] = due
            // The shorter gap holds between two requests of callers that have waited.
            let end = max(due, lastStart + min(gap, lastGap))
            return end > now ? end : nil
        }
    }

    package enum Turn: Hashable, Sendable {
        /// The request begins now; report its end with ``HostPacer/ended(_:)``.
        case go
        /// `nil`: when a running request of the host ends, or ``HostPacer/endTurn()`` names the host.
        case wait(until: Timestamp?)
    }

    private var hosts: [String: Host] = [:]
    /// The hosts with callers in a line that should have asked before the next ``endTurn()``.
    private var asked: Set<String> = []
    /// The hosts of which the first place has changed since the last ``endTurn()``.
    private var changed: Set<String> = []
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

    /// - Parameter caller: the number of the subscription.
    package mutating func take(
        _ host: String, _ limits: PacingLimits, by caller: Int64 = 0, at now: Timestamp
    ) -> Turn {
        observe(now)
        var state = hosts[host] ?? Host(lastStart: restart)
        defer { hosts[host] = state }
        if let end = state.pauseEnd, end > now {
            leaveLine(of: host, &state, caller)
            return .wait(until: end)
        }
        while let end = state.line.first?.end, end <= now, state.line.first?.caller != caller {
            state.line.removeFirst()
            changed.insert(host)
        }
        let place = state.line.firstIndex { $0.caller == caller }
        if let place { state.line[place].isRenewed = true }
        if let first = state.line.first, first.caller != caller {
            if place == nil { state.line.append(Place(caller: caller)) }
            return .wait(until: first.end)
        }
        if state.running >= limits.concurrency {
            if place == nil { state.line.append(Place(caller: caller)) }
            state.line[0].end = nil
            return .wait(until: nil)
        }
        guard let end = state.gapEnd(of: caller, limits.gap, at: now) else {
            leaveLine(of: host, &state, caller)
            state.running += 1
            (state.lastStart, state.lastGap) = (now, limits.gap)
            state.dues[caller] = nil
            state.pauseEnd = nil
            return .go
        }
        guard let due = state.dues[caller], due <= now else {
            leaveLine(of: host, &state, caller)
            return .wait(until: end)
        }
        // The callers behind must learn the date.
        if place != nil, state.line[0].end == nil, state.line.count > 1 { changed.insert(host) }
        if place == nil { state.line.append(Place(caller: caller)) }
        state.line[0].end = end + Self.placeTime
        return .wait(until: end)
    }

    private mutating func leaveLine(of host: String, _ state: inout Host, _ caller: Int64) {
        guard let place = state.line.firstIndex(where: { $0.caller == caller }) else { return }
        state.line.remove(at: place)
        if place == 0, !state.line.isEmpty { changed.insert(host) }
    }

    package mutating func ended(_ host: String) {
        guard var state = hosts[host] else { return }
        state.running -= 1
        if !state.line.isEmpty { expectCalls(for: host, &state) }
        hosts[host] = state
    }

    private mutating func expectCalls(for host: String, _ state: inout Host) {
        for place in state.line.indices { state.line[place].isRenewed = false }
        asked.insert(host)
    }

    /// Call when all callers that wait had an opportunity to ask. Callers in a line lose their places if they have not
    /// asked after the end of a request or after this method named their host. Returns the hosts with another first
    /// place; all callers of these hosts must ask again.
    package mutating func endTurn() -> Set<String> {
        for host in asked {
            guard var state = hosts[host], let first = state.line.first?.caller else { continue }
            state.line.removeAll { $0.end == nil && !$0.isRenewed }
            if let next = state.line.first?.caller, next != first { changed.insert(host) }
            hosts[host] = state
        }
        asked = []
        defer { changed = [] }
        for host in changed {
            guard var state = hosts[host] else { continue }
            expectCalls(for: host, &state)
            hosts[host] = state
        }
        return changed
    }

    /// Forgets a caller that asks no more.
    package mutating func leave(_ caller: Int64) {
        for (host, var state) in hosts {
            guard state.dues[caller] != nil || state.line.contains(where: { $0.caller == caller }) else { continue }
            state.dues[caller] = nil
            leaveLine(of: host, &state, caller)
            hosts[host] = state
        }
    }

    /// The origin wants no request for some time, as with 429 or `Retry-After` (RFC 9110 §10.2.3); at most a day.
    package mutating func pause(_ host: String, for time: Duration, at now: Timestamp) {
        observe(now)
        let end = now + min(max(time, .zero), Self.longestPause)
        guard end > max(now, hosts[host]?.pauseEnd ?? now) else { return }
        hosts[host, default: Host(lastStart: restart)].pauseEnd = end
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
        hosts = hosts.filter { host in
            let state = host.value
            if state.running > 0 || state.line.contains(where: { $0.end ?? .distantFuture > now }) { return true }
            return state.pauseEnd ?? now > now || state.lastStart.map { $0 + state.longestGap > now } ?? false
        }
    }

    /// Moves all dates with the clock when it has gone back, so that no gap and no pause becomes longer. Every other
    /// call with a date does so first, because a date from before the step would reach the caller. But the time since
    /// the last call hides a step that is shorter, so the shell makes this call at each turn of its timer.
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
            host.lastStart = host.lastStart.map { $0 + step }
            host.dues = host.dues.mapValues { $0 + step }
            for place in host.line.indices {
                host.line[place].end = host.line[place].end.map { $0 + step }
            }
            host.pauseEnd = host.pauseEnd.map { $0 + step }
            return host
        }
    }

    package static let longestPause: Duration = .seconds(86_400)
    /// The time for which a caller keeps its place after the date at which it may send.
    private static let placeTime: Duration = .seconds(1)
}
