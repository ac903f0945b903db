/// When a client must be done with a request's body: after a grace, it must have made a minimum rate on average. The
/// time in which nothing was read from it does not count.
///
/// All times are in milliseconds of ``DaemonCore/now()``.
struct BodyClock {
    private let grace: Int64
    private let bytesPerSecond: Int64
    private var start: Int64
    private var count: Int64 = 0
    private var stopped: Int64?

    /// - Parameter bytesPerSecond: the minimum; not 0.
    init(now: Int64, grace: Int64, bytesPerSecond: Int64) {
        start = now
        self.grace = grace
        self.bytesPerSecond = bytesPerSecond
    }

    /// When the client is too late; never while nothing is read from it.
    var deadline: Int64 {
        stopped == nil ? start + grace + count * 1000 / bytesPerSecond : .max
    }

    /// That many bytes more have come.
    mutating func receive(_ byteCount: Int) {
        count += Int64(byteCount)
    }

    /// From now on nothing is read.
    mutating func stop(now: Int64) {
        stopped = stopped ?? now
    }

    /// From now on the body is read again.
    mutating func resume(now: Int64) {
        guard let stopped else { return }
        start += now - stopped
        self.stopped = nil
    }
}
