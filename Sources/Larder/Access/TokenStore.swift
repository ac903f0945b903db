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
        bearers = Locked(Self.bearers(of: try TokenFile(at: path), keeping: [:], clock))
    }

    /// Reads the file again; what it says counts from now on. On an error, which it throws, everything stays as it was.
    /// Who had a token before and has the same now goes on where its rate had come to.
    ///
    /// - Returns: how many tokens there are.
    @discardableResult
    public func reload() throws(TokenFile.Invalid) -> Int {
        let file = try TokenFile(at: path)
        return bearers.withLock { bearers in
            bearers = Self.bearers(of: file, keeping: bearers, clock)
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

    /// Whether somebody who was let in would be let in again, with the same rights.
    public func knows(_ bearer: Bearer) -> Bool {
        bearers.withLock { $0[bearer.token.name] === bearer }
    }

    private static let nobodys = [UInt8](repeating: 0, count: 32)

    /// In a time that does not depend on where they differ.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }

    private static func bearers(
        of file: TokenFile, keeping old: [String: Bearer], _ clock: @escaping @Sendable () -> ContinuousClock.Instant
    ) -> [String: Bearer] {
        var bearers: [String: Bearer] = [:]
        for token in file.tokens {
            let known = old[token.name]
            bearers[token.name] = known?.token == token ? known : Bearer(token, clock: clock)
        }
        return bearers
    }
}
