import Foundation

/// A clock that cannot be set.
enum MonotonicClock {
    /// Milliseconds since some fixed instant, exact to a kernel tick (4 ms). The call is a vDSO call that does not read
    /// the hardware clock, so it is cheap enough for every request.
    static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
