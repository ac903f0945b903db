// Invariants of `EventHub`
//
// - A publisher holds the lock of `intake` only briefly, and never waits for a listener. While no events are recorded,
//   it reads one atomic and returns.
// - Only `queue` accesses the window and the listeners, and it never waits for a listener. A listener that is behind
//   gets the missing events from the window, and is cut off when these events have left the window. So the memory of
//   all listeners is bounded by the window, and by the small buffer of each connection.

import DiskCache
import Dispatch
import Primitives
import Synchronization

/// Delivers events to the listeners of `GET /events`.
///
/// The hub records events while a client listens, and for ``Limits/patience`` after the last listener has left, so that
/// a listener that reconnects misses no event. Before the first listener, and after this time, no event is recorded.
///
/// `@unchecked Sendable` is safe because `intake` has a lock, the flags are atomic, and all other mutable state is
/// accessed only on `queue`.
package final class EventHub: @unchecked Sendable {
    package struct Limits: Sendable {
        package var listeners = 1024
        /// 0: any number.
        package var listenersPerClient = 0
        package var windowCount = 65_536
        package var windowBytes = 8 << 20
        /// The time for which events are recorded after the last listener has left.
        package var patience: Duration = .seconds(300)
        package var heartbeat: Duration = .seconds(15)

        package init() {}
    }

    package enum Refusal: Error, Hashable, Sendable {
        case full
        /// The number of listeners of this client address is at its limit.
        case crowded
        case stopping
    }

    /// The state that any thread may access.
    private struct Intake {
        var backlog: EventBacklog
        /// Whether a call of ``round()`` is scheduled.
        var isAwaited = false
        var nextRound = DispatchTime.now()
        /// The numbers of listeners by client address. They include listeners for which `begin` has not run yet.
        var listeners: [String: Int] = [:]
        var listenerCount = 0
        var isStopped = false
    }

    struct Listener {
        let address: String
        let filter: EventFilter
        let sink: any EventSink
        /// Called at each heartbeat. The stream ends when the call returns `false`.
        let mayStay: @Sendable () -> Bool
        /// The place in the window up to which the listener has the events.
        var place: UInt64 = 0
        var isFull = false
    }

    /// The least time between the end of a ``round()`` and the next. A single event is delivered at once. The events of
    /// a burst are delivered in a few pieces, which costs much less with a thousand listeners.
    private static let pace = DispatchTimeInterval.milliseconds(50)

    /// Delivered events, counted once for each listener.
    package let sent = Counter()
    /// Listeners that were cut off because they were too far behind.
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
    /// `nil` while a client listens, and before the first listener.
    var emptySince: ContinuousClock.Instant?
    /// Whether the timer of ``planRest()`` runs.
    private var isRestPlanned = false

    /// `clock` gives the time of events that the hub makes itself; `now` measures the time without listeners.
    init(
        _ limits: Limits = Limits(), clock: any WallClock = SystemClock(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.limits = limits
        self.clock = clock
        self.now = now
        intake = Locked(Intake(backlog: EventBacklog(byteLimit: limits.windowBytes)))
        window = ReplayWindow(seal: EventIDSeal(), countLimit: limits.windowCount, byteLimit: limits.windowBytes)
    }

    package var listenerCount: Int { intake.withLock(\.listenerCount) }
    /// Whether events are recorded. Callers check this before they make an event.
    var isWanted: Bool { wanted.load(ordering: .relaxed) }
    /// Whether a client listens at this moment.
    var isHeard: Bool { heard.load(ordering: .relaxed) }

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

    /// Delivers events to a sink: from now on, or all after `lastID`, the last id that the client says it saw. If an
    /// event after `lastID` has left the window, the listener gets a ``Event/Kind/reset``. `mayStay` is called at each
    /// heartbeat; the stream ends when it returns `false`. Throws ``Refusal``, and then does not use the sink.
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
            // Set before `listen` returns, because the client may then cause an event and wait for it.
            wanted.store(true, ordering: .relaxed)
            heard.store(true, ordering: .relaxed)
            return nil
        }
        if let refusal { throw refusal }
        queue.async { [self] in
            begin(Listener(address: address, filter: filter, sink: sink, mayStay: mayStay), after: lastID)
        }
    }

    /// Ends all streams and refuses new ones.
    package func stop() {
        let isFirst = intake.withLock { intake in
            defer { intake.isStopped = true }
            return !intake.isStopped
        }
        wanted.store(false, ordering: .relaxed)
        heard.store(false, ordering: .relaxed)
        if isFirst { queue.async { [self] in endAll() } }
    }

    /// Moves one piece of the backlog to the window, and delivers it. Continues with the next piece in another block on
    /// the queue, so that between two pieces the queue can feed listeners that have room again.
    func round() {
        if !tellPiece() { queue.async { [self] in round() } }
    }

    /// Moves one piece of the backlog to the window, and delivers it. Returns whether the backlog is empty now.
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

    /// Calls ``restIfDue()`` later, even if no event happens. At most one timer runs at a time.
    private func planRest() {
        guard !isRestPlanned else { return }
        isRestPlanned = true
        let patience = DispatchTimeInterval.milliseconds(Int(limits.patience.milliseconds) + 1)
        queue.asyncAfter(deadline: .now() + patience) { [weak self] in
            guard let self else { return }
            isRestPlanned = false
            guard listeners.isEmpty else { return }
            restIfDue()
            // The last listener left after this timer was started, so the hub must still wait.
            if isWanted { planRest() }
        }
    }

    /// Stops recording when no client has listened for longer than ``Limits/patience``.
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

/// Receives the events for a listener and forwards them at the listener's pace. The hub never makes two calls at once.
package protocol EventSink: AnyObject, Sendable {
    /// Accepts the next events, at least one.
    func write(_ events: [PublishedEvent]) -> Backpressure
    /// Sends a heartbeat with the id of the last event that was delivered or skipped, for a listener that reconnects.
    func mark(_ id: EventID)
    /// Calls `action` once, as soon as the sink has room or the listener has gone; at once if either is so already.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when the listener has gone; at once when the listener has gone already.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// Ends the stream. The listener may still read the events that were written.
    func finish()
    /// Ends the stream without waiting for the listener to read the events that were written.
    func abort()
}

final class NamespaceEvents: EntryObserver, Sendable {
    /// The most `download.succeeded` events per second for answers from the cache, because hits may be very frequent. A
    /// burst may have twice as many. The metrics count all such answers.
    private static let cachedRate = 100.0

    private let hub: EventHub
    private let namespace: String
    private let clock: any WallClock
    private let hasEnded = Atomic<Bool>(false)
    private let cachedAnswers = Locked(TokenBucket(rate: NamespaceEvents.cachedRate))

    init(hub: EventHub, namespace: String, clock: any WallClock) {
        self.hub = hub
        self.namespace = namespace
        self.clock = clock
    }

    var isInterested: Bool { hub.isWanted && !hasEnded.load(ordering: .relaxed) }

    func entriesChanged(_ changes: [EntryChange]) {
        guard isInterested else { return }
        let now = clock.now()
        hub.publish(
            changes.map {
                Event(kind: .init($0.verb), time: now, namespace: namespace, subject: .entries($0.subject))
            })
    }

    /// Publishes one event for the `count` entries of a removed namespace, and none for later changes of these entries.
    func end(with count: Int64) {
        hasEnded.store(true, ordering: .relaxed)
        guard hub.isWanted, count > 0 else { return }
        let entries = EntryChange.Subject.others(count: Int(count), .all)
        hub.publish([Event(kind: .entryRemoved, time: clock.now(), namespace: namespace, subject: .entries(entries))])
    }

    /// Whether events of downloads and captures are recorded. Callers check this before they make an event.
    var isWanted: Bool { hub.isWanted }
    var isHeard: Bool { hub.isHeard }

    /// Publishes an event of a download or capture, also of a removed namespace, because all work that began must also
    /// report its end.
    func publish(_ kind: Event.Kind, _ subject: Event.Subject) {
        hub.publish([Event(kind: kind, time: clock.now(), namespace: namespace, subject: subject)])
    }

    func takesCachedAnswer() -> Bool {
        let now = ContinuousClock.now
        return cachedAnswers.withLock { $0.take(at: now) == nil }
    }
}
