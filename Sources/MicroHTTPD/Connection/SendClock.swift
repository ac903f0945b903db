/// The bytes of a connection as the kernel counts them: since the connection began, including the overhead of TLS.
struct SendProgress: Equatable {
    /// Acknowledged by the client; 0 also where the kernel does not count.
    var taken: Int64
    /// In the socket's send buffer, sent or not, but not acknowledged.
    var waiting: Int64
}

/// Decides whether a client reads an answer too slowly: bytes always waited for the client during a whole window, and
/// the client took fewer bytes than the minimum rate times the period. The window is the period plus the time for one
/// ``step`` at the minimum rate, because a client's kernel announces new room only in whole steps (RFC 9293
/// §3.8.6.2.2). When a sample shows that the client has taken all bytes that waited at the previous sample, a new
/// window begins. Times are in milliseconds.
struct SendClock {
    /// The largest step, in bytes, in which a client's kernel is expected to announce new room for bytes.
    static let step: Int64 = 128 << 10
    private let window: Int64
    private let minimum: Int64
    private var start: Int64
    private var takenAtStart: Int64
    /// The value of ``SendProgress/taken`` at which the client has taken all bytes that waited at the last sample.
    private var end: Int64

    /// Takes the first sample of an answer that is under way. The rate is averaged over `period`.
    init(now: Int64, _ progress: SendProgress, period: Int64, bytesPerSecond: Int64) {
        window = period + Self.step * 1000 / max(1, bytesPerSecond)
        minimum = bytesPerSecond * period / 1000
        start = now
        takenAtStart = progress.taken
        end = progress.taken + progress.waiting
    }

    mutating func isTooSlow(now: Int64, _ progress: SendProgress) -> Bool {
        let keepsUp = progress.waiting == 0 || progress.taken >= end
        end = progress.taken + progress.waiting
        let isWindowOver = now - start >= window
        if !keepsUp, isWindowOver, progress.taken - takenAtStart < minimum { return true }
        if keepsUp || isWindowOver {
            start = now
            takenAtStart = progress.taken
        }
        return false
    }
}

/// Measures the time without a byte from or to a client, in milliseconds of ``DaemonCore/now()``.
struct SilenceClock {
    /// Two marks differ if bytes have moved between their samples.
    struct Mark: Equatable {
        var received: UInt64
        /// `nil` between answers.
        var sent: SendProgress?
    }

    private var mark: Mark?
    private var start: Int64 = 0

    /// Takes a sample, and returns the length of the silence.
    mutating func look(now: Int64, _ mark: Mark) -> Int64 {
        if mark != self.mark { (self.mark, start) = (mark, now) }
        return now - start
    }

    /// Ends the silence, because the server has to act now, not the client.
    mutating func rest() {
        mark = nil
    }
}

/// Computes the deadline for the body of a request. After a grace period, the body must have arrived at a minimum rate
/// on average. A client that was faster may be slower later, but silent for at most `limit`, because otherwise the
/// client could hold its connection for hours. The time during which the server does not read does not count. In
/// milliseconds of ``DaemonCore/now()``.
struct BodyClock {
    private let bytesPerSecond: Int64
    private let limit: Int64
    private var end: Int64
    /// The remainder when ``receive(_:now:)`` converts bytes into milliseconds of ``end``, in thousandths of a byte.
    private var rest: Int64 = 0
    private var stopped: Int64?

    /// `limit` is at least `grace`: a smaller value is raised. `bytesPerSecond` is not 0.
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
