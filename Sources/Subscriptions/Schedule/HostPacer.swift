import Primitives

/// Decides when requests to hosts may begin: a pure value, which all subscriptions of the server share. Downloads keep
/// only pauses in a pacer of their own.
///
/// Gaps and the requests at a time concern a host. A pause concerns a host and one namespace, because a namespace must
/// not be able to stop the requests of another.
///
/// ```swift
/// switch pacer.take("news.example", PacingLimits(), by: subscription, in: "default", at: now) {
/// case .go: send()                    // and then pacer.ended("news.example")
/// case .wait(until: let date): wake(at: date)
/// }
/// // When all callers had an opportunity to ask:
/// for host in pacer.endTurn(at: now) { wakeCallers(of: host) }
/// ```
///
/// Each caller has limits of its own. Its gap counts from the last request of any caller, but requests that begin
/// while it waits for the gap do not make it wait longer. Callers begin in the order in which their gaps end. So
/// neither callers with many requests at a time nor callers with a short gap can keep out another caller, and a caller
/// that waits for a long gap keeps out none.
///
/// Invariants:
/// - No request of a caller begins earlier than its gap after an earlier request of the same caller.
/// - A blocked caller waits for the end of a request, or for a caller before it. ``endTurn(at:)`` names the host when a
///   caller before it has begun a request, waits for a date, or has not asked although it could. So no caller waits for
///   ever for another one that no longer asks.
/// - ``endTurn(at:)`` names a host only after such an event, so callers that all wait do not wake each other.
package struct HostPacer: Sendable {
    private struct Waiter: Sendable {
        enum Call: Sendable {
            /// The caller asks again at this date.
            case at(Timestamp)
            /// The caller asks again when it is woken. `isWoken`: it was, so it asks before the next
            /// ``HostPacer/endTurn(at:)``.
            case blocked(isWoken: Bool)
            /// The caller has not asked although it could, or the host is paused.
            case absent
        }

        /// The date at which the caller's gap ends.
        let due: Timestamp
        /// Decides between callers with the same date.
        let order: UInt64
        var call: Call

        var isBlocked: Bool { if case .blocked = call { true } else { false } }

        /// Whether the caller could ask now, and goes before callers with later dates.
        func competes(at now: Timestamp) -> Bool {
            switch call {
            case .at(let date): date <= now
            case .blocked: true
            case .absent: false
            }
        }

        func moved(by step: Duration) -> Waiter {
            let call: Call = if case .at(let date) = call { .at(date + step) } else { call }
            return Waiter(due: due + step, order: order, call: call)
        }

        func isBefore(_ other: Waiter) -> Bool { (due, order) < (other.due, other.order) }
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
        var waiters: [Int64: Waiter] = [:]

        var hasBlocked: Bool { waiters.values.contains(where: \.isBlocked) }
    }

    package enum Turn: Hashable, Sendable {
        /// The request begins now; report its end with ``HostPacer/ended(_:)``.
        case go
        /// `nil`: when a running request of the host ends, or ``HostPacer/endTurn(at:)`` names the host.
        case wait(until: Timestamp?)
    }

    /// A host that wants no requests of a namespace.
    package struct PausedHost: Hashable, Sendable {
        package var namespace: String
        package var host: String

        package init(_ host: String, in namespace: String) {
            self.namespace = namespace
            self.host = host
        }
    }

    private var hosts: [String: Host] = [:]
    /// The ends of the pauses, by namespaces and hosts.
    var pauses: [String: [String: Timestamp]] = [:]
    /// The hosts with blocked callers.
    private var contested: Set<String> = []
    /// The hosts of which blocked callers may go on, since the last ``endTurn(at:)``.
    private var changed: Set<String> = []
    private var lastOrder: UInt64 = 0
    private var clock: ClockWatch?
    /// The latest time at which an earlier process may have sent requests; `nil`: there was none.
    private var restart: Timestamp?

    package init() {}

    /// A pacer after a restart. `pauses`: from ``allPauses(at:)`` at `date`. Each one lasts at most for the rest that
    /// it had then, even if the clock has gone back since.
    package init(pauses: [PausedHost: Timestamp], savedAt date: Timestamp, at now: Timestamp) {
        for (paused, end) in pauses where end > date {
            pause(paused.host, in: paused.namespace, for: end - date, at: date)
        }
        observe(now)
    }

    /// Notes that an earlier process may have sent requests until now. The first request to each host then keeps the
    /// gap to them, so that a process that ends again and again sends no more requests than one that goes on.
    package mutating func restarted(at now: Timestamp) {
        observe(now)
        restart = now
    }

    /// The number of hosts with a running request or a gap.
    package var count: Int { hosts.count }

    /// - Parameters:
    ///   - caller: the number of the subscription.
    ///   - namespace: of the subscription; the same one in all calls of a caller.
    package mutating func take(
        _ host: String, _ limits: PacingLimits, by caller: Int64 = 0, in namespace: String = "", at now: Timestamp
    ) -> Turn {
        if let end = pauseEnd(of: host, in: namespace, at: now) {
            if hosts[host]?.waiters[caller]?.competes(at: now) == true { changed.insert(host) }
            hosts[host]?.waiters[caller]?.call = .absent
            return .wait(until: end)
        }
        var state = hosts[host] ?? Host(lastStart: restart)
        defer { hosts[host] = state }
        let before = state.waiters[caller]
        // The callers behind this one may go on if it leaves its place.
        let hadPlace = before?.competes(at: now) == true
        state.longestGap = max(state.longestGap, limits.gap)
        let gapEnd = state.lastStart.map { $0 + limits.gap } ?? now
        var waiter = Waiter(
            due: min(before?.due ?? gapEnd, gapEnd), order: before?.order ?? lastOrder + 1, call: .absent)
        lastOrder = max(lastOrder, waiter.order)
        // Between two requests of callers that have waited, the shorter gap of the two holds.
        let earliest = max(waiter.due, state.lastStart.map { $0 + min(limits.gap, state.lastGap) } ?? now)
        if earliest > now {
            waiter.call = .at(earliest)
            state.waiters[caller] = waiter
            if hadPlace { changed.insert(host) }
            return .wait(until: earliest)
        }
        let isSecond = state.waiters.contains { other in
            other.key != caller && other.value.competes(at: now) && other.value.isBefore(waiter)
        }
        guard !isSecond, state.running < limits.concurrency else {
            waiter.call = .blocked(isWoken: false)
            state.waiters[caller] = waiter
            contested.insert(host)
            return .wait(until: nil)
        }
        state.waiters[caller] = nil
        state.running += 1
        (state.lastStart, state.lastGap) = (now, limits.gap)
        if state.hasBlocked { changed.insert(host) }
        return .go
    }

    /// A request has ended. Wake all callers of the host, before ``endTurn(at:)``.
    package mutating func ended(_ host: String) {
        guard var state = hosts[host] else { return }
        state.running -= 1
        Self.wake(&state)
        hosts[host] = state
    }

    /// The caller had a turn, and has begun no request.
    package mutating func abandoned(_ host: String) {
        guard let running = hosts[host]?.running else { return }
        hosts[host]?.running = running - 1
        changed.insert(host)
    }

    private static func wake(_ state: inout Host) {
        for (caller, waiter) in state.waiters where waiter.isBlocked {
            state.waiters[caller]?.call = .blocked(isWoken: true)
        }
    }

    /// Call when all callers that wait had an opportunity to ask at `now`. A caller that could have asked and has not
    /// no longer goes before others. Returns the hosts of which all callers must ask again.
    package mutating func endTurn(at now: Timestamp) -> Set<String> {
        var named: Set<String> = []
        for host in contested {
            guard var state = hosts[host], state.hasBlocked else {
                contested.remove(host)
                continue
            }
            var isChanged = changed.contains(host)
            for (caller, waiter) in state.waiters {
                switch waiter.call {
                case .at(let date) where date <= now: break
                case .blocked(isWoken: true): break
                case .at, .blocked, .absent: continue
                }
                state.waiters[caller]?.call = .absent
                isChanged = true
            }
            if isChanged, state.hasBlocked {
                Self.wake(&state)
                named.insert(host)
            }
            hosts[host] = state
        }
        changed = []
        return named
    }

    /// Forgets a caller that asks no more.
    package mutating func leave(_ caller: Int64) {
        for host in Array(hosts.keys) where hosts[host]?.waiters.removeValue(forKey: caller) != nil {
            changed.insert(host)
        }
    }

    /// Forgets hosts that need no pacing any more, so that the table does not grow for ever.
    package mutating func forget(at now: Timestamp) {
        observe(now)
        hosts = hosts.filter { host in
            let state = host.value
            if state.running > 0 || state.hasBlocked { return true }
            return state.lastStart.map { $0 + state.longestGap > now } ?? false
        }
        for namespace in pauses.keys { forgetEndedPauses(of: namespace, at: now) }
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
            host.waiters = host.waiters.mapValues { $0.moved(by: step) }
            return host
        }
        pauses = pauses.mapValues { $0.mapValues { $0 + step } }
    }
}
