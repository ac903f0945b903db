import Foundation

/// Time that no one sets.
enum MonotonicClock {
    /// Milliseconds since some fixed instant, exact to a kernel tick (4 ms): a vDSO call without reading the hardware
    /// clock, which is cheap enough for every request.
    static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
