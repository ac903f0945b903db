import Crypto
import Primitives

/// The valid tokens. The time of a check does not reveal which names exist: an unknown name costs a comparison, too.
package final class TokenStore: Sendable {
    private let path: String
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let bearers: Locked<[String: Bearer]>

    /// Throws ``TokenFile/Invalid``. `clock` measures the time for the rate limits.
    package init(
        file path: String, clock: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) throws(TokenFile.Invalid) {
        self.path = path
        self.clock = clock
        bearers = Locked(Self.bearers(of: try TokenFile(at: path), keeping: [:], clock))
    }

    /// Reads the file again and returns the number of tokens. The rate limit of a token that has not changed keeps its
    /// count. If this method throws, the old tokens stay valid.
    @discardableResult
    package func reload() throws(TokenFile.Invalid) -> Int {
        let file = try TokenFile(at: path)
        return bearers.withLock { bearers in
            bearers = Self.bearers(of: file, keeping: bearers, clock)
            return bearers.count
        }
    }

    /// Returns `nil` when the token is not valid.
    package func bearer(of token: UnsafeRawBufferPointer) -> Bearer? {
        guard let name = TokenSecret.name(in: token) else { return nil }
        let digest = SHA256.hash(data: token)
        let bearer = bearers.withLock { $0[name] }
        // The comparison takes the same time wherever the digests differ.
        return digest == bearer?.token.digest ?? Self.unknownDigest ? bearer : nil
    }

    /// Whether the token of a ``bearer(of:)`` that was returned earlier is still valid and has the same rights.
    package func knows(_ bearer: Bearer) -> Bool {
        bearers.withLock { $0[bearer.token.name] === bearer }
    }

    private static let unknownDigest = [UInt8](repeating: 0, count: SHA256.byteCount)

    private static func bearers(
        of file: TokenFile, keeping old: [String: Bearer], _ clock: @escaping @Sendable () -> ContinuousClock.Instant
    ) -> [String: Bearer] {
        file.tokens.reduce(into: [:]) { bearers, token in
            let known = old[token.name]
            bearers[token.name] = known?.token == token ? known : Bearer(token, clock: clock)
        }
    }
}

package final class Bearer: Sendable {
    package let token: AccessToken
    private let bucket: Locked<TokenBucket?>
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(_ token: AccessToken, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.token = token
        self.clock = clock
        bucket = Locked(token.rate.map { TokenBucket(rate: $0) })
    }

    /// If the rate permits a request now, counts it and returns `nil`. Otherwise returns the time to wait.
    package func ask() -> Duration? {
        guard token.rate != nil else { return nil }
        let now = clock()
        return bucket.withLock { $0?.take(at: now) }
    }

    /// Counts the elements of a batch after the first as requests, even beyond the rate. They delay later requests.
    package func charge(_ count: Int) {
        guard token.rate != nil else { return }
        let now = clock()
        bucket.withLock { $0?.charge(count, at: now) }
    }
}

/// A rate limit: `rate` requests per second, and at most twice as many in a burst.
struct TokenBucket {
    private let rate: Double
    private let capacity: Double
    private var level: Double
    private var last: ContinuousClock.Instant?

    init(rate: Double) {
        self.rate = rate
        capacity = max(1, 2 * rate)
        level = capacity
    }

    /// If the level permits a request, takes it and returns `nil`. Otherwise returns the time to wait, at most a year.
    mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        fill(until: now)
        guard level >= 1 else { return .seconds(min((1 - level) / rate, 365 * 86_400)) }
        level -= 1
        return nil
    }

    /// Takes `count` requests. The level may become negative.
    mutating func charge(_ count: Int, at now: ContinuousClock.Instant) {
        fill(until: now)
        level -= Double(count)
    }

    private mutating func fill(until now: ContinuousClock.Instant) {
        if let last { level = min(capacity, level + rate * max(0, last.duration(to: now).inSeconds)) }
        last = now
    }
}
