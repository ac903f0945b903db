// Invariants of this file
//
// - A publisher holds the lock of `intake` only briefly, and never waits for a listener. Without a listener it reads
//   one atomic.
// - The window and the listeners belong to `queue`, which never waits either. A listener that is behind finds the
//   missing events in the window, and a listener that falls out of the window is cut off. So the memory of all
//   listeners is bounded by the window, and by the small buffer of each connection.

import Dispatch
import Primitives
import Synchronization

/// Delivers events to the listeners of `GET /events`.
///
/// The hub keeps the window while a client listens, and for some minutes after the last listener has left, so that a
/// listener that comes back misses no event. Before the first listener, and after that time, no event is recorded.
///
/// `@unchecked Sendable` is safe because `intake` has a lock, the flags are atomic, and all other mutable state is
/// accessed only on `queue`.
package final class EventHub: @unchecked Sendable {
    /// The limits of listening.
    package struct Limits: Sendable {
        /// The most listeners at once. Default: 1,024.
        package var listeners = 1024
        /// The most listeners of one client address; 0, the default: any number.
        package var listenersPerClient = 0
        /// The most events that the window keeps. Default: 65,536.
        package var windowCount = 65_536
        /// The most bytes of the events in the window, approximately. Default: 8 MiB.
        package var windowBytes = 8 << 20
        /// The time for which events are kept after the last listener has left. Default: 5 minutes.
        package var patience: Duration = .seconds(300)
        /// The interval of the heartbeats to each listener. Default: 15 s.
        package var heartbeat: Duration = .seconds(15)

        /// The defaults.
        package init() {}
    }

    /// The reason why a client may not listen.
    package enum Refusal: Error, Hashable, Sendable {
        /// The number of listeners is at its limit.
        case full
        /// The number of listeners of this client address is at its limit.
        case crowded
        /// The server is stopping.
        case stopping
    }

    /// The state that any thread may access.
    private struct Intake {
        /// The events that are not in the window yet.
        var backlog: EventBacklog
        /// Whether a round is scheduled.
        var isAwaited = false
        /// The earliest time of the next round.
        var nextRound = DispatchTime.now()
        /// The number of listeners per client address, including listeners that are about to begin.
        var listeners: [String: Int] = [:]
        var listenerCount = 0
        var isStopped = false
    }

    /// A connected client.
    struct Listener {
        let address: String
        let filter: EventFilter
        let sink: any EventSink
        /// Whether the client may still listen; asked with each heartbeat.
        let mayStay: @Sendable () -> Bool
        /// The place in the window.
        var place: UInt64 = 0
        /// Whether the sink has no room for now.
        var isFull = false
    }

    /// The time between the beginnings of two rounds. A single event is delivered at once. The events of a burst are
    /// delivered in a few pieces, which costs much less with a thousand listeners.
    private static let pace = DispatchTimeInterval.milliseconds(50)

    /// The number of events sent, counted once for each listener.
    package let sent = Counter()
    /// The number of listeners that were cut off because they were too far behind.
    package let dropped = Counter()

    let limits: Limits
    let clock: any WallClock
    let queue = DispatchQueue(label: "larder.events")
    private let now: @Sendable () -> ContinuousClock.Instant
    private let intake: Locked<Intake>
    private let wanted = Atomic<Bool>(false)
    private let heard = Atomic<Bool>(false)

    // The state below is accessed only on `queue`.
    var window: ReplayWindow
    var listeners: [UInt64: Listener] = [:]
    var lastNumber: UInt64 = 0
    var isBeating = false
    var isStopped = false
    /// The time at which the last listener left; `nil` while a client listens, and before the first listener.
    var emptySince: ContinuousClock.Instant?
    /// Whether the timer of ``planRest()`` runs.
    private var isRestPlanned = false

    /// Creates a hub without listeners.
    ///
    /// - Parameters:
    ///   - clock: gives the time of events that the hub makes itself.
    ///   - now: measures the time without listeners.
    init(
        _ limits: Limits = Limits(), clock: any WallClock = SystemClock(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.limits = limits
        self.clock = clock
        self.now = now
        intake = Locked(Intake(backlog: EventBacklog(byteLimit: limits.windowBytes)))
        window = ReplayWindow(
            seal: EventIDSeal(), countLimit: limits.windowCount, byteLimit: limits.windowBytes)
    }

    /// The number of listeners.
    package var listenerCount: Int { intake.withLock(\.listenerCount) }

    /// Whether events are recorded, for current listeners or for listeners that may come back. Callers check this
    /// before they make an event.
    var isWanted: Bool { wanted.load(ordering: .relaxed) }

    /// Whether a client listens at this moment.
    var isHeard: Bool { heard.load(ordering: .relaxed) }

    // MARK: - From anywhere

    /// Records events, in order, and schedules a round.
    func publish(_ events: [Event]) {
        guard isWanted, !events.isEmpty else { return }
        let start = intake.withLock { intake -> DispatchTime? in
            intake.backlog.add(events)
            if intake.isAwaited { return nil }
            intake.isAwaited = true
            return intake.nextRound
        }
        if let start { queue.asyncAfter(deadline: start) { [self] in round() } }
    }

    /// Starts to deliver events to a sink, from now on or from an earlier event on. Throws ``Refusal``, and then does
    /// not use the sink.
    ///
    /// - Parameters:
    ///   - address: the client's address.
    ///   - filter: selects the events.
    ///   - lastID: the last id that the client saw, as it says; `nil`: no earlier events. When a later event has left
    ///     the window, the listener gets a ``Event/Kind/reset``.
    ///   - mayStay: asked with each heartbeat; the stream ends when it returns `false`.
    package func listen(
        _ sink: any EventSink, from address: String, to filter: EventFilter, after lastID: String? = nil,
        while mayStay: @escaping @Sendable () -> Bool = { true }
    ) throws(Refusal) {
        let refusal = intake.withLock { intake -> Refusal? in
            if intake.isStopped { return .stopping }
            if intake.listenerCount >= limits.listeners { return .full }
            let count = intake.listeners[address, default: 0]
            if limits.listenersPerClient > 0, count >= limits.listenersPerClient { return .crowded }
            intake.listeners[address] = count + 1
            intake.listenerCount += 1
            // Set before `listen` returns: the client may cause an event the next moment, and wait for it.
            wanted.store(true, ordering: .relaxed)
            heard.store(true, ordering: .relaxed)
            return nil
        }
        if let refusal { throw refusal }
        queue.async { [self] in
            begin(Listener(address: address, filter: filter, sink: sink, mayStay: mayStay), after: lastID)
        }
    }

    /// Ends all streams and refuses new ones. After one second, aborts the streams that a client has not read to their
    /// end.
    package func stop() {
        let isFirst = intake.withLock { intake in
            defer { intake.isStopped = true }
            return !intake.isStopped
        }
        wanted.store(false, ordering: .relaxed)
        heard.store(false, ordering: .relaxed)
        if isFirst { queue.async { [self] in endAll() } }
    }

    // MARK: - On the queue

    /// Moves events from the backlog to the window and delivers them. When the backlog holds more, continues in another
    /// block on the queue, so that listeners that have room again get their turn in between.
    func round() {
        if !tellPiece() { queue.async { [self] in round() } }
    }

    /// Moves one piece of the backlog to the window, and delivers it to all listeners with room. Returns whether the
    /// backlog is empty now.
    func tellPiece() -> Bool {
        let (events, isLast, hasLost) = intake.withLock { intake -> ([Event], Bool, Bool) in
            let events = intake.backlog.take()
            guard intake.backlog.isEmpty else { return (events, false, false) }
            intake.isAwaited = false
            intake.nextRound = .now() + Self.pace
            return (events, true, intake.backlog.takeLoss())
        }
        for event in events { window.append(event) }
        if hasLost { window.append(Event(reset: .gap, at: clock.now())) }
        if listeners.isEmpty { restIfDue() }
        for number in Array(listeners.keys) { feed(number) }
        return isLast
    }

    /// Releases the place of a listener that has left, or that came after ``endAll()``.
    func leave(_ address: String) {
        if listeners.isEmpty {
            emptySince = now()
            planRest()
        }
        intake.withLock { intake in
            let count = intake.listeners[address, default: 1]
            intake.listeners[address] = count > 1 ? count - 1 : nil
            intake.listenerCount -= 1
            if intake.listenerCount == 0 { heard.store(false, ordering: .relaxed) }
        }
    }

    /// Starts the timer that ends the recording even if no event happens. One timer runs, however often the last
    /// listener leaves.
    private func planRest() {
        guard !isRestPlanned else { return }
        isRestPlanned = true
        let patience = DispatchTimeInterval.milliseconds(Int(limits.patience.milliseconds) + 1)
        queue.asyncAfter(deadline: .now() + patience) { [weak self] in
            guard let self else { return }
            isRestPlanned = false
            guard listeners.isEmpty else { return }
            restIfDue()
            // The last listener left after the timer was started.
            if isWanted { planRest() }
        }
    }

    /// Stops recording, when there has been no listener for longer than the limit.
    private func restIfDue() {
        guard let emptySince, now() - emptySince > limits.patience else { return }
        let isResting = intake.withLock { intake in
            guard intake.listenerCount == 0 else { return false }
            wanted.store(false, ordering: .relaxed)
            intake.backlog.removeAll()
            return true
        }
        if isResting { window.forget() }
    }
}
