import Primitives

/// The tokens that are good now, and who bears them.
///
/// Whoever asks about a token gets no hint of it by how long that takes: the digest of what was sent is compared as a
/// whole, and so it is when there is no token of that name.
public final class TokenStore: Sendable {
    private let path: String
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let bearers: Locked<[String: Bearer]>

    /// Reads the tokens of a file. Throws ``TokenFile/Invalid``.
    ///
    /// - Parameter clock: what rates are counted by.
    public init(
        file path: String, clock: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) throws(TokenFile.Invalid) {
        self.path = path
        self.clock = clock
        bearers = Locked(Self.bearers(of: try TokenFile(at: path), keeping: [:]))
    }

    /// Reads the file again; what it says counts from now on. On an error, which it throws, everything stays as it was.
    /// Who had a token before and has the same now goes on where its rate had come to.
    ///
    /// - Returns: how many tokens there are.
    @discardableResult
    public func reload() throws(TokenFile.Invalid) -> Int {
        let file = try TokenFile(at: path)
        return bearers.withLock { bearers in
            bearers = Self.bearers(of: file, keeping: bearers)
            return bearers.count
        }
    }

    /// Who bears a token, as it was sent; `nil` when it is not good.
    public func bearer(of token: UnsafeRawBufferPointer) -> Bearer? {
        guard let name = TokenSecret.name(in: token) else { return nil }
        let digest = TokenSecret.digest(of: token)
        let bearer = bearers.withLock { $0[name] }
        let isGood = Self.areEqual(digest, bearer?.token.digest ?? Self.nobodys)
        return isGood ? bearer : nil
    }

    /// The time that ``Bearer/mayAsk(at:)`` counts by.
    public var now: ContinuousClock.Instant { clock() }

    private static let nobodys = [UInt8](repeating: 0, count: 32)

    /// In a time that does not depend on where they differ.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }

    private static func bearers(of file: TokenFile, keeping old: [String: Bearer]) -> [String: Bearer] {
        var bearers: [String: Bearer] = [:]
        for token in file.tokens {
            let known = old[token.name]
            bearers[token.name] = known?.token == token ? known : Bearer(token)
        }
        return bearers
    }
}

/// Who bears a token, and how many requests it may still make.
public final class Bearer: Sendable {
    /// The token.
    public let token: AccessToken
    private let bucket: Locked<TokenBucket?>

    init(_ token: AccessToken) {
        self.token = token
        bucket = Locked(token.rate.map { TokenBucket(rate: $0) })
    }

    /// Counts so many requests more, which nobody asked about: a batch is as many as it has elements. Who has used up
    /// more than there was waits the longer.
    public func charge(_ count: Int, at now: @autoclosure () -> ContinuousClock.Instant) {
        guard token.rate != nil else { return }
        let now = now()
        bucket.withLock { $0?.charge(count, at: now) }
    }

    /// Whether one request more is within the token's rate; if so, it counts.
    public func mayAsk(at now: @autoclosure () -> ContinuousClock.Instant) -> Bool {
        guard token.rate != nil else { return true }
        let now = now()
        return bucket.withLock { $0?.take(at: now) ?? true }
    }
}

/// So many a second, and twice as many at once.
struct TokenBucket {
    private let rate: Double
    private var level: Double
    private var last: ContinuousClock.Instant?

    private var capacity: Double { max(1, 2 * rate) }

    init(rate: Double) {
        self.rate = rate
        level = max(1, 2 * rate)
    }

    /// Whether there is one left, which is taken.
    mutating func take(at now: ContinuousClock.Instant) -> Bool {
        fill(until: now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Takes so many, whether there are any or not.
    mutating func charge(_ count: Int, at now: ContinuousClock.Instant) {
        fill(until: now)
        level -= Double(count)
    }

    private mutating func fill(until now: ContinuousClock.Instant) {
        if let last { level = min(capacity, level + rate * max(0, last.duration(to: now).inSeconds)) }
        last = now
    }
}
