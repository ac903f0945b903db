import Primitives

/// Who bears a token, and how many requests it may still make.
public final class Bearer: Sendable {
    /// The token.
    public let token: AccessToken
    private let bucket: Locked<TokenBucket?>
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(_ token: AccessToken, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.token = token
        self.clock = clock
        bucket = Locked(token.rate.map { TokenBucket(rate: $0) })
    }

    /// One request more: `nil` when it is within the token's rate, and then it counts; otherwise how long it is until
    /// one will be.
    public func ask() -> Duration? {
        guard token.rate != nil else { return nil }
        let now = clock()
        return bucket.withLock { $0?.take(at: now) }
    }

    /// Counts so many requests more, which nobody asked about: a batch is as many as it has elements. Who has used up
    /// more than there was waits the longer.
    public func charge(_ count: Int) {
        guard token.rate != nil else { return }
        let now = clock()
        bucket.withLock { $0?.charge(count, at: now) }
    }
}
