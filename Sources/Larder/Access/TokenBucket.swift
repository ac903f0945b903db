import Primitives

/// A rate limit: `rate` requests per second, and at most twice as many at once.
struct TokenBucket {
    private let rate: Double
    private var level: Double
    private var last: ContinuousClock.Instant?

    private var capacity: Double { max(1, 2 * rate) }

    init(rate: Double) {
        self.rate = rate
        level = max(1, 2 * rate)
    }

    /// Takes a request and returns `nil`; otherwise returns the time until a request is available, at most a year.
    mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        fill(until: now)
        guard level >= 1 else { return .seconds(min((1 - level) / rate, 365 * 86_400)) }
        level -= 1
        return nil
    }

    /// Takes `count` requests, even when the bucket does not hold as many.
    mutating func charge(_ count: Int, at now: ContinuousClock.Instant) {
        fill(until: now)
        level -= Double(count)
    }

    private mutating func fill(until now: ContinuousClock.Instant) {
        if let last { level = min(capacity, level + rate * max(0, last.duration(to: now).inSeconds)) }
        last = now
    }
}
