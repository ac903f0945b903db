// Invariants of this file
//
// - `epoch` only grows. What was made of an entry when it had one number is right as long as it has that number, which
//   is even; an odd one says that the entry has left the memory tier. That is set under the lock of the tier's shard,
//   so that a writer who finds the entry gone knows that nothing made of it is right any more.
// - `actions` are those of what was made at the present epoch, and each runs once, without the lock. When the entry has
//   left there are none, and none is taken. `charged` is what the tier counts for them, and never less than they take.
// - `accesses` is twice the number of hits that the log has not taken, and 1 when the log knows that there are any. The
//   two are one number so that the first hit after the log took them sees that the log must be told, and no hit is lost
//   or counted twice.

import Primitives
import Synchronization

/// An entry in the memory tier, as those see it who keep an answer made of it at hand: whether the answer is still
/// right, and where hits are counted, both without a lock.
public final class HotEntry: Sendable {
    /// What an answer is made of, as it was at one moment. Take it *before* reading what may change.
    public struct Mark: Sendable {
        /// The entry.
        public let entry: HotEntry
        fileprivate let epoch: Int

        /// Whether nothing has changed since: neither was the entry replaced, removed, changed or evicted, nor has its
        /// expiry slid.
        public var isCurrent: Bool { epoch & 1 == 0 && entry.epoch.load(ordering: .acquiring) == epoch }
    }

    private struct State {
        /// The oldest first. `requests` is a hash of the requests that it is for.
        var actions: [(requests: Int, bytes: Int, action: @Sendable () -> Void)] = []
        var charged = 0
    }

    /// How many answers of one entry may be at hand: who asks for it in ever new ways must not fill the memory, nor
    /// keep what others ask for from being at hand.
    private static let answerLimit = 4

    // What a hit touches, side by side.
    private let epoch = Atomic<Int>(0)
    private let accesses = Atomic<Int64>(0)
    private let lastAccess = Atomic<Int64>(.min)
    /// Hits that the policy of eviction has not seen.
    private let tally = Atomic<UInt32>(0)

    let key: ExactText
    private let version: Int64
    private let log: AccessLog
    private let clock: AccessClock
    private let onFirstHit: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameter onFirstHit: called when something waits to be written down and nothing did before.
    init(
        key: String, version: Int64, log: AccessLog, clock: AccessClock, onFirstHit: @escaping @Sendable () -> Void
    ) {
        self.key = ExactText(key)
        self.version = version
        self.log = log
        self.clock = clock
        self.onFirstHit = onFirstHit
    }

    /// The present moment.
    public var mark: Mark { Mark(entry: self, epoch: epoch.load(ordering: .acquiring)) }

    /// Counts a hit that was answered without ``DiskCache/load(_:expectingURL:)`` and ``DiskCache/recordHit(_:)``, as
    /// these do.
    ///
    /// - Parameter now: the time; whoever answers has asked for it anyway.
    public func recordHit(at now: Timestamp) {
        // Beyond this the policy makes no difference, and a load is cheaper than an addition that others wait for.
        if tally.load(ordering: .relaxed) < QueuePlace.frequencyLimit { tally.add(1, ordering: .relaxed) }
        if lastAccess.load(ordering: .relaxed) < now.milliseconds {
            lastAccess.store(now.milliseconds, ordering: .relaxed)
        }
        let isKnown = accesses.add(2, ordering: .acquiringAndReleasing).oldValue & 1 == 1
        if !isKnown, log.register(self) { onFirstHit() }
    }

    /// Has `action` called once when the mark ceases to be current, or when so many others have come that there is no
    /// place for it; in place of an earlier one for the same requests, which is not called then.
    ///
    /// - Parameters:
    ///   - requests: a hash of the requests that the answer is for.
    ///   - bytes: what it takes.
    /// - Returns: how many bytes are to be charged for it; `nil`, and it is never called, when the mark is not current.
    func attach(
        _ mark: Mark, for requests: Int, bytes: Int, _ action: @escaping @Sendable () -> Void
    ) -> Int? {
        // What is replaced is dropped after the lock was released.
        let (extra, oldest, _) = state.withLock { state -> (Int?, (@Sendable () -> Void)?, (@Sendable () -> Void)?) in
            guard mark.isCurrent else { return (nil, nil, nil) }
            var oldest, replaced: (@Sendable () -> Void)?
            if let index = state.actions.firstIndex(where: { $0.requests == requests }) {
                replaced = state.actions.remove(at: index).action
            } else if state.actions.count >= Self.answerLimit {
                oldest = state.actions.removeFirst().action
            }
            state.actions.append((requests, bytes, action))
            let extra = max(0, state.actions.reduce(0) { $0 + $1.bytes } - state.charged)
            state.charged += extra
            return (extra, oldest, replaced)
        }
        oldest?()
        return extra
    }

    /// There was no room for what was to be charged: nothing is kept of the entry.
    func refuse(_ bytes: Int) {
        state.withLock { $0.charged -= bytes }
        change()
    }

    /// It has left the memory tier. Under the lock of its shard, with what takes it out; ``change()`` comes after that.
    func leave() {
        epoch.bitwiseOr(1, ordering: .releasing)
    }

    /// Something about the entry is another.
    func change() {
        let actions = state.withLock { state in
            epoch.add(2, ordering: .releasing)
            defer { state.actions = [] }
            return state.actions
        }
        for (_, _, action) in actions { action() }
    }

    // MARK: - For the log, under its lock

    /// The log knows of the hits from now on. False when it did already: two hits were both the first.
    func register() -> Bool {
        accesses.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue & 1 == 0
    }

    /// What was counted since it was last taken.
    var pending: PendingAccess { access(accesses.load(ordering: .acquiring)) }

    /// How many hits that are.
    var pendingHits: Int64 { accesses.load(ordering: .relaxed) >> 1 }

    /// The same, and the log forgets this entry.
    func takePending() -> PendingAccess { access(accesses.exchange(0, ordering: .acquiringAndReleasing)) }

    private func access(_ state: Int64) -> PendingAccess {
        var access = PendingAccess(version: version, hits: state >> 1)
        // By the wall clock, which may have been set back: a hit does not ask how late it really is.
        if access.hits > 0 {
            access.lastAccess = clock.instant(
                ofAccessAt: Timestamp(milliseconds: lastAccess.load(ordering: .relaxed)))
        }
        return access
    }
}

extension HotEntry: HitTally {
    package func takeHits() -> UInt32 {
        tally.load(ordering: .relaxed) == 0 ? 0 : tally.exchange(0, ordering: .relaxed)
    }
}

/// Counts hits of a value of the memory tier that do not come by the tier, and so not by the policy of eviction either.
package protocol HitTally: AnyObject, Sendable {
    /// How many there were since this was last asked.
    func takeHits() -> UInt32
}
