import Primitives

/// Decides when a request that failed before the first byte of its response is sent again: exponential back-off with
/// jitter.
package struct RetryPolicy: Sendable {
    /// The number of tries for a transfer with all its redirects: the transfer repeats at most `maximumTries - 1`
    /// failed tries. 3 by default; 1 disables retries.
    package var maximumTries = 3
    /// The longest pause before the second try; it doubles for each further try. 200 ms by default.
    package var baseDelay: Duration = .milliseconds(200)
    /// The longest pause before any try; 2 s by default.
    package var maximumDelay: Duration = .seconds(2)
    /// Returns a random number from 0 to 1; the system's generator by default.
    package var random: @Sendable () -> Double = { Double.random(in: 0...1) }

    package init() {}

    /// A policy without retries.
    package static var never: RetryPolicy {
        var policy = RetryPolicy()
        policy.maximumTries = 1
        return policy
    }

    /// The pause after `failures` failed tries (1 after the first). Half of the pause is fixed and half is random, so
    /// that requests that failed together do not return together. `nil` when no further try follows.
    package func delay(afterFailures failures: Int) -> Duration? {
        guard failures < maximumTries, failures > 0 else { return nil }
        let full = min(baseDelay.inSeconds * Double(UInt64(1) << UInt64(min(failures - 1, 32))), maximumDelay.inSeconds)
        return .seconds(full / 2 + full / 2 * min(max(random(), 0), 1))
    }
}
