import Primitives

/// A wall clock that stands still until a test turns it.
public final class ManualClock: WallClock {
    private let instant: Locked<Timestamp>

    /// A clock that shows `start`; 2026-01-01T00:00:00Z by default.
    public init(_ start: Timestamp = Timestamp(seconds: 1_767_225_600)) {
        instant = Locked(start)
    }

    /// The instant it was last turned to.
    public func now() -> Timestamp {
        instant.withLock { $0 }
    }

    /// Turns the clock to `now`, forwards or back.
    public func set(_ now: Timestamp) {
        instant.withLock { $0 = now }
    }

    /// Turns the clock on by `duration`; back when it is negative.
    public func advance(by duration: Duration) {
        instant.withLock { $0 = $0 + duration }
    }
}
