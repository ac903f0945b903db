import Foundation

/// Where "now" comes from: every decision about freshness asks it, so that a test can turn time forward.
public protocol WallClock: Sendable {
    /// The current instant.
    func now() -> Timestamp
}

/// The machine's own clock.
public struct SystemClock: WallClock {
    /// The machine's own clock.
    public init() {}

    /// `CLOCK_REALTIME`, cut to the millisecond.
    public func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
