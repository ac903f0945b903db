import Primitives

/// A clock that stands still until a test turns it: a wall clock, and a monotonic clock that advances by the same time.
package final class ManualClock: WallClock {
    private let instant: Locked<Timestamp>
    private let start: Timestamp
    private let monotonicStart = ContinuousClock.now

    /// A clock that shows `start`; 2026-01-01T00:00:00Z by default.
    package init(_ start: Timestamp = Timestamp(seconds: 1_767_225_600)) {
        instant = Locked(start)
        self.start = start
    }

    /// The instant to which the clock was last turned.
    package func now() -> Timestamp {
        instant.withLock { $0 }
    }

    /// The same instant on the monotonic clock. A test that uses it must not turn the clock back.
    package func monotonicNow() -> ContinuousClock.Instant {
        monotonicStart + (now() - start)
    }

    /// Turns the clock to `now`, forwards or back.
    package func set(_ now: Timestamp) {
        instant.withLock { $0 = now }
    }

    /// Advances the clock by `duration`; turns it back when `duration` is negative.
    package func advance(by duration: Duration) {
        instant.withLock { $0 = $0 + duration }
    }
}
