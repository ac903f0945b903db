/// Computes the deadline by which a client must have sent the body of its request: after a grace period, the body must
/// have arrived at a minimum rate on average. A client that was faster before may be slower later, but never silent for
/// longer than `limit`, because otherwise a client that sends much at first could hold its connection for hours. Time
/// in which the server does not read from the connection does not count.
///
/// All times are in milliseconds of ``DaemonCore/now()``.
struct BodyClock {
    private let bytesPerSecond: Int64
    private let limit: Int64
    private var end: Int64
    /// The received bytes that do not add up to a whole millisecond yet, in thousandths of a byte.
    private var rest: Int64 = 0
    private var stopped: Int64?

    /// A `limit` below `grace` is raised to it. `bytesPerSecond` is not 0.
    init(now: Int64, grace: Int64, limit: Int64, bytesPerSecond: Int64) {
        end = now + grace
        self.limit = max(grace, limit)
        self.bytesPerSecond = bytesPerSecond
    }

    /// `Int64.max` while the server does not read from the connection.
    var deadline: Int64 { stopped == nil ? end : .max }

    mutating func receive(_ byteCount: Int, now: Int64) {
        rest += Int64(byteCount) * 1000
        end = min(end + rest / bytesPerSecond, now + limit)
        rest %= bytesPerSecond
    }

    mutating func stop(now: Int64) {
        stopped = stopped ?? now
    }

    mutating func resume(now: Int64) {
        guard let stopped else { return }
        end += now - stopped
        self.stopped = nil
    }
}
