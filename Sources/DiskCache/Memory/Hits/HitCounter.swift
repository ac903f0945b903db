import Primitives
import Synchronization

/// Counts the hits of an entry in memory, until the ``HitLog`` takes them. A base class of ``HotEntry`` alone, so that
/// a hit costs no further object. Invariant: `counted` is twice the hits that the log has not taken, plus 1 while the
/// counter is registered with the log. So the first hit after ``take()`` sees that it must register, and no hit is lost
/// or counted twice. `@unchecked Sendable` is safe because all properties are atomics.
package class HitCounter: @unchecked Sendable {
    // With the first field of the subclass, the fields that a hit touches are stored side by side.
    private let counted = Atomic<Int64>(0)
    private let lastHit = Atomic<Int64>(.min)
    private let tally = Atomic<UInt32>(0)

    init() {}

    /// Returns whether the counter must register with the log. Inlined, so that a hit takes no further call.
    @inline(__always)
    final func count(at now: Timestamp) -> Bool {
        countUse()
        if lastHit.load(ordering: .relaxed) < now.milliseconds { lastHit.store(now.milliseconds, ordering: .relaxed) }
        return counted.add(2, ordering: .acquiringAndReleasing).oldValue & 1 == 0
    }

    /// Counts a use for the memory tier alone.
    @inline(__always)
    final func countUse() {
        // The policy ignores hits beyond the limit, and a load is cheaper than an addition that other threads wait for.
        if tally.load(ordering: .relaxed) < QueuePlace.frequencyLimit { tally.add(1, ordering: .relaxed) }
    }

    final func takeTally() -> UInt32 {
        tally.load(ordering: .relaxed) == 0 ? 0 : tally.exchange(0, ordering: .relaxed)
    }

    /// `last` is a time of the wall clock.
    typealias Hits = (count: Int64, last: Timestamp)

    /// Marks the counter as registered with the log. Returns `false` when another thread's hit has done so already.
    final func register() -> Bool {
        counted.bitwiseOr(1, ordering: .acquiringAndReleasing).oldValue & 1 == 0
    }

    final var hits: Hits { hits(counted.load(ordering: .acquiring)) }
    final var hitCount: Int64 { counted.load(ordering: .relaxed) >> 1 }

    /// Resets the count. After that the counter is not registered with the log.
    final func take() -> Hits { hits(counted.exchange(0, ordering: .acquiringAndReleasing)) }

    private func hits(_ counted: Int64) -> Hits {
        (counted >> 1, Timestamp(milliseconds: lastHit.load(ordering: .relaxed)))
    }
}
