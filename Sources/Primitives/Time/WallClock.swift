import Foundation

/// The source of the current time. Every decision about freshness uses it, so that a test can move time forward.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}

/// The clock of the machine.
package struct SystemClock: WallClock {
    package init() {}

    /// `CLOCK_REALTIME`, cut to the millisecond.
    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
