import Primitives

package final class Bearer: Sendable {
    package let token: AccessToken
    private let bucket: Locked<TokenBucket?>
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(_ token: AccessToken, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.token = token
        self.clock = clock
        bucket = Locked(token.rate.map { TokenBucket(rate: $0) })
    }

    /// `nil`: the request is permitted and counted; otherwise the time until a request is permitted.
    package func ask() -> Duration? {
        guard token.rate != nil else { return nil }
        let now = clock()
        return bucket.withLock { $0?.take(at: now) }
    }

    /// Counts further elements of a batch without a check. A bearer beyond its rate waits longer afterwards.
    package func charge(_ count: Int) {
        guard token.rate != nil else { return }
        let now = clock()
        bucket.withLock { $0?.charge(count, at: now) }
    }
}
