import Primitives

/// The pauses between attempts: exponential with full jitter, so that many lanes do not return at the same instant.
enum Backoff {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(15 * 60)
    /// The most that `Retry-After` can ask for.
    static let longestPause: Duration = .seconds(24 * 3600)

    /// - Parameters:
    ///   - failures: the failures in a row, from 1.
    ///   - jitter: a random number from 0 to 1.
    static func delay(failures: Int, jitter: Double) -> Duration {
        let doublings = min(max(failures - 1, 0), 20)
        let most = min(shortest.milliseconds << Int64(doublings), longest.milliseconds)
        return .milliseconds(Int64(Double(most) * jitter))
    }

    /// The pause that the origin asks for, of at least a second, because `Retry-After: 0` must not become a tight loop.
    static func pause(_ retryAfter: Duration) -> Duration { min(max(retryAfter, shortest), longestPause) }
}
