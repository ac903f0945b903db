import Primitives

/// When a request that failed before any byte of its answer came is sent again: exponential back-off with jitter.
public struct RetryPolicy: Sendable {
    /// How often a request is sent in all, its redirects' included; 3 by default, 1 for no retries.
    public var maximumTries = 3
    /// The longest pause before the second try; doubled for each further one. 200 ms by default.
    public var baseDelay: Duration = .milliseconds(200)
    /// The longest pause of all; 2 s by default.
    public var maximumDelay: Duration = .seconds(2)
    /// Randomness: a number from 0 to 1. The system's by default.
    public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// The defaults.
    public init() {}

    /// No retries at all.
    public static var never: RetryPolicy {
        var policy = RetryPolicy()
        policy.maximumTries = 1
        return policy
    }

    /// The pause after `failures` failed tries (1 after the first): half of it fixed, half of it random, so that many
    /// that failed together do not come back together. `nil` when there is no further try.
    public func delay(afterFailures failures: Int) -> Duration? {
        guard failures < maximumTries, failures > 0 else { return nil }
        let full = min(baseDelay.inSeconds * Double(UInt64(1) << UInt64(min(failures - 1, 32))), maximumDelay.inSeconds)
        return .seconds(full / 2 + full / 2 * min(max(random(), 0), 1))
    }
}
