import Primitives

/// The bearer of a token, with the state of its rate limit.
package final class Bearer: Sendable {
    /// The token.
    package let token: AccessToken
    private let bucket: Locked<TokenBucket?>
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(_ token: AccessToken, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.token = token
        self.clock = clock
        bucket = Locked(token.rate.map { TokenBucket(rate: $0) })
    }

    /// Counts a request if the token's rate permits it. Returns `nil` when the request is permitted, otherwise the time
    /// until the next request is.
    package func ask() -> Duration? {
        guard token.rate != nil else { return nil }
        let now = clock()
        return bucket.withLock { $0?.take(at: now) }
    }

    /// Counts `count` further requests without a check, because a batch counts as many requests as it has elements. A
    /// bearer beyond its rate waits longer afterwards.
    package func charge(_ count: Int) {
        guard token.rate != nil else { return }
        let now = clock()
        bucket.withLock { $0?.charge(count, at: now) }
    }
}
