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
        // The policy ignores hits beyond the limit, and a load is cheaper than an addition that other threads wait for.
        if tally.load(ordering: .relaxed) < QueuePlace.frequencyLimit { tally.add(1, ordering: .relaxed) }
        if lastHit.load(ordering: .relaxed) < now.milliseconds { lastHit.store(now.milliseconds, ordering: .relaxed) }
        return counted.add(2, ordering: .acquiringAndReleasing).oldValue & 1 == 0
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

/// The clock for the times of hits, by which listings sort: the wall clock, but never going back, because new entries
/// would look older than all others. While the wall clock is behind, this clock advances a millisecond whenever the
/// wall clock has moved, so hits keep their order. Advancing at each hit would outrun the wall clock on a busy server.
final class HitClock: Sendable {
    private struct State {
        var latest: Timestamp
        /// The wall clock's time when `latest` was returned.
        var wall: Timestamp

        mutating func advance(to clock: any WallClock) -> Timestamp {
            // Read under the lock, because another thread's earlier reading would look like a clock that was set back.
            let now = clock.now()
            if now > latest {
                latest = now
            } else if now != wall, now < latest {
                latest = latest + .milliseconds(1)
            }
            wall = now
            return latest
        }
    }

    private let clock: any WallClock
    private let state: Locked<State>

    init(_ clock: any WallClock, notBefore start: Timestamp) {
        self.clock = clock
        state = Locked(State(latest: start, wall: clock.now()))
    }

    func now() -> Timestamp { state.withLock { $0.advance(to: clock) } }

    /// Converts a recent time of the wall clock: `noted`, or the time of this clock while the wall clock is behind.
    func instant(ofHitAt noted: Timestamp) -> Timestamp {
        state.withLock { state in
            // ``HotEntry`` notes hits by the wall clock without advancing this clock.
            if noted > state.latest { (state.latest, state.wall) = (noted, noted) }
            return clock.now() < state.latest ? state.advance(to: clock) : noted
        }
    }
}
