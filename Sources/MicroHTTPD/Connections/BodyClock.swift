/// When a client must be done with a request's body: after a grace, it must have made a minimum rate on average. Who
/// was faster may be slower later, but not for longer than a limit: else who sends much at first could hold it for
/// hours. The time in which nothing was read from it does not count.
///
/// All times are in milliseconds of ``DaemonCore/now()``.
struct BodyClock {
    private let bytesPerSecond: Int64
    private let limit: Int64
    private var end: Int64
    /// What is less than a millisecond, in bytes.
    private var rest: Int64 = 0
    private var stopped: Int64?

    /// - Parameters:
    ///   - limit: how long it may be silent at the most.
    ///   - bytesPerSecond: the minimum; not 0.
    init(now: Int64, grace: Int64, limit: Int64, bytesPerSecond: Int64) {
        end = now + grace
        self.limit = max(grace, limit)
        self.bytesPerSecond = bytesPerSecond
    }

    /// When the client is too late; never while nothing is read from it.
    var deadline: Int64 { stopped == nil ? end : .max }

    /// That many bytes more have come.
    mutating func receive(_ byteCount: Int, now: Int64) {
        rest += Int64(byteCount) * 1000
        end = min(end + rest / bytesPerSecond, now + limit)
        rest %= bytesPerSecond
    }

    /// From now on nothing is read.
    mutating func stop(now: Int64) {
        stopped = stopped ?? now
    }

    /// From now on the body is read again.
    mutating func resume(now: Int64) {
        guard let stopped else { return }
        end += now - stopped
        self.stopped = nil
    }
}
