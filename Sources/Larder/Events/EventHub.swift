// Invariants of this file
//
// - Who publishes takes the lock of `intake` for a moment, and never waits for a listener. Without a listener it looks
//   at one atomic.
// - The window and the listeners belong to `queue`, which never waits either: a listener that is behind finds what it
//   has not got in the window, and one that falls out of the window is cut off. So what all of them take is bounded by
//   the window, and by the little that each connection holds.

import Dispatch
import Primitives
import Synchronization

/// Tells those who listen what happens.
///
/// The window is kept while somebody listens and for some minutes after the last one left, so that who comes back
/// misses nothing. Before the first listener, and after that time, nobody takes note of anything.
///
/// `@unchecked Sendable` is safe: `intake` has its lock, the flags are atomic, and all else that changes is touched on
/// `queue` alone.
public final class EventHub: @unchecked Sendable {
    /// What listening may take.
    public struct Limits: Sendable {
        /// How many may listen at once. Default: 1,024.
        public var listeners = 1024
        /// How many of one client address; 0, the default: any number.
        public var listenersPerClient = 0
        /// How many events are kept for who comes back. Default: 65,536.
        public var windowCount = 65_536
        /// How many bytes they may take, about. Default: 8 MiB.
        public var windowBytes = 8 << 20
        /// For how long events are kept although nobody listens any more. Default: 5 minutes.
        public var patience: Duration = .seconds(300)
        /// How often each listener is told that the server is there. Default: 15 s.
        public var heartbeat: Duration = .seconds(15)

        /// The defaults.
        public init() {}
    }

    /// Why somebody may not listen.
    public enum Refusal: Error, Hashable, Sendable {
        /// As many listen as may.
        case full
        /// As many of this client address listen as may.
        case crowded
        /// The server stops.
        case stopping
    }

    /// What is touched from anywhere.
    private struct Intake {
        /// What is not in the window yet.
        var backlog: EventBacklog
        /// Whether a round is to come.
        var isAwaited = false
        /// When the next round may begin.
        var nextRound = DispatchTime.now()
        /// Those who listen, or soon will, by their addresses.
        var listeners: [String: Int] = [:]
        var listenerCount = 0
        var isStopped = false
    }

    /// Somebody who listens.
    struct Listener {
        let address: String
        let filter: EventFilter
        let sink: any EventSink
        /// Whether it still may, asked with each heartbeat.
        let mayStay: @Sendable () -> Bool
        /// Its place in the window.
        var place: UInt64 = 0
        /// Whether it takes no more for now.
        var isFull = false
    }

    /// Between the beginnings of two rounds. What happens alone is told at once; what happens in a burst is told in a
    /// few pieces, which costs a thousand listeners much less.
    private static let pace = DispatchTimeInterval.milliseconds(50)

    /// How many events were sent, counted for each listener.
    public let sent = Counter()
    /// How many listeners were cut off because they were too far behind.
    public let dropped = Counter()

    let limits: Limits
    let clock: any WallClock
    let queue = DispatchQueue(label: "larder.events")
    private let now: @Sendable () -> ContinuousClock.Instant
    private let intake: Locked<Intake>
    private let wanted = Atomic<Bool>(false)
    private let heard = Atomic<Bool>(false)

    // On `queue`.
    var window: ReplayWindow
    var listeners: [UInt64: Listener] = [:]
    var lastNumber: UInt64 = 0
    var isBeating = false
    var isStopped = false
    /// Since when nobody listens; `nil` while somebody does, and before the first.
    var emptySince: ContinuousClock.Instant?
    /// Whether it will be seen to, some time, that nobody has listened for long.
    private var isRestPlanned = false

    /// A hub that nobody listens to.
    ///
    /// - Parameters:
    ///   - clock: says when something happened.
    ///   - now: by what the time is counted for which nobody listens.
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

    /// How many listen.
    public var listenerCount: Int { intake.withLock(\.listenerCount) }

    /// Whether anybody will get to see what happens now. To be asked before an event is made.
    var isWanted: Bool { wanted.load(ordering: .relaxed) }

    /// Whether somebody listens at this moment.
    var isHeard: Bool { heard.load(ordering: .relaxed) }

    // MARK: - From anywhere

    /// Something has happened; in order.
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

    /// Begins to tell somebody of what happens from now on, or has happened since an earlier event. Throws
    /// ``Refusal``, and then the sink is not used.
    ///
    /// - Parameters:
    ///   - address: of the client.
    ///   - filter: what it wants to know.
    ///   - lastID: the last id that it saw, as it says; `nil`: it wants nothing of before. When something that came
    ///     after it is not there any more, the listener is told so by a ``Event/Kind/reset``.
    ///   - mayStay: asked with each heartbeat; when not, the stream ends.
    public func listen(
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
            // At once: who listens may do something the next moment, and wait to be told of it.
            wanted.store(true, ordering: .relaxed)
            heard.store(true, ordering: .relaxed)
            return nil
        }
        if let refusal { throw refusal }
        queue.async { [self] in
            begin(Listener(address: address, filter: filter, sink: sink, mayStay: mayStay), after: lastID)
        }
    }

    /// Ends all streams, and refuses new ones. Who takes nothing is cut off after a moment.
    public func stop() {
        let isFirst = intake.withLock { intake in
            defer { intake.isStopped = true }
            return !intake.isStopped
        }
        wanted.store(false, ordering: .relaxed)
        heard.store(false, ordering: .relaxed)
        if isFirst { queue.async { [self] in endAll() } }
    }

    // MARK: - On the queue

    /// Takes what has happened, and tells everyone who has room. When that is much it goes on in another round, and who
    /// has room again by then has its turn in between.
    func round() {
        if !tellPiece() { queue.async { [self] in round() } }
    }

    /// Takes some of what has happened, and tells everyone who has room; whether that was all.
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

    /// A listener has left, or was refused.
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

    /// Has it rest in time also when nothing happens. One timer, however often the last listener leaves.
    private func planRest() {
        guard !isRestPlanned else { return }
        isRestPlanned = true
        let patience = DispatchTimeInterval.milliseconds(Int(limits.patience.milliseconds) + 1)
        queue.asyncAfter(deadline: .now() + patience) { [weak self] in
            guard let self else { return }
            isRestPlanned = false
            guard listeners.isEmpty else { return }
            restIfDue()
            // The last one has left later than this was planned.
            if isWanted { planRest() }
        }
    }

    /// Takes note of nothing any more, when nobody has listened for long enough.
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
