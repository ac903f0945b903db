import Foundation

enum MonotonicClock {
    /// Exact to a kernel tick (4 ms). A vDSO call that reads no hardware clock, so cheap enough for every request.
    static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
