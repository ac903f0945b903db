import HTTPTypes
import Primitives

/// How long an answer can be used in a shared cache without asking its origin, and what is allowed after that
/// (RFC 9111 §4.2).
///
/// Whether it is kept at all is for ``StoragePolicy``, and what a request thinks of it for ``ReusePolicy``.
public struct Freshness: Hashable, Sendable {
    /// The directives that count: those of the first targeted field (RFC 9213), else those of Cache-Control.
    public let control: CacheControl
    /// The freshness lifetime (§4.2.1), from when the origin made the answer; zero when it was stale at once.
    public let lifetime: Duration
    /// Whether the origin stated the lifetime; otherwise it is a guess (§4.2.2), which may be zero.
    public let isExplicit: Bool
    /// How old the answer was when it arrived (§4.2.3: `corrected_initial_age`).
    public let ageAtReceipt: Duration
    /// Whether the answer is an error of its origin (5xx), which never stands in for a newer failure.
    public let isServerError: Bool
    /// Whether the answer is an error, of its origin or of the request (4xx), which never stands in for a newer error.
    public let isError: Bool
    private let receivedAt: Timestamp

    /// The longest lifetime that is guessed: a week.
    public static let heuristicMaximum = Duration.seconds(7 * 86_400)

    /// The statuses for which a lifetime may be guessed without `public` (RFC 9110 §15.1).
    public static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    /// Reads an answer.
    public init(_ answer: OriginAnswer) {
        self.init(answer.status, answer.fields, requestedAt: answer.requestedAt, receivedAt: answer.receivedAt)
    }

    /// Reads a stored response.
    public init(of response: StoredResponse) {
        self = response.memo.freshness {
            Self(
                response.status, response.fields, requestedAt: response.requestedAt, receivedAt: response.receivedAt)
        }
    }

    private init(_ status: Int, _ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        let (control, isTargeted) = TargetedCacheControl.effective(fields)
        let stated = FreshnessLifetime.stated(
            fields, control: control, usesExpires: !isTargeted, receivedAt: receivedAt)
        // §7.3: a cookie is for one client, so how long others may have it is not guessed.
        let mayGuess =
            (Self.heuristicStatuses.contains(status) || control.contains("public")) && !fields.contains(.setCookie)
        self.control = control
        isServerError = status >= 500
        isError = status >= 400
        self.receivedAt = receivedAt
        isExplicit = stated != nil
        lifetime = stated ?? (mayGuess ? Self.guessed(fields, receivedAt: receivedAt) : .zero)
        ageAtReceipt = FreshnessLifetime.age(fields, requestedAt: requestedAt, receivedAt: receivedAt)
    }

    /// The age at an instant (§4.2.3: `current_age`), in milliseconds; a clock that was set back makes nothing younger
    /// than it arrived.
    public func currentAge(at now: Timestamp) -> Duration {
        ageAtReceipt + max(.zero, now - receivedAt)
    }

    /// For how long it stays fresh from an instant on; zero or negative when it is stale, by how much.
    public func remaining(at now: Timestamp) -> Duration {
        lifetime - currentAge(at: now)
    }

    /// Whether it is fresh (§4.2): its age is less than its lifetime. `no-cache` is another matter.
    public func isFresh(at now: Timestamp) -> Bool {
        remaining(at: now) > .zero
    }

    /// The instant at which it can no longer be used unasked; with `no-cache` that of its receipt.
    public var expiryDate: Timestamp {
        control.noCache ? receivedAt : receivedAt + (lifetime - ageAtReceipt)
    }

    /// Whether the origin forbids that it is used stale (§4.2.4): by `must-revalidate`, `proxy-revalidate`, `s-maxage`
    /// or `no-cache` (§5.2.2.2, §5.2.2.8, §5.2.2.10, §5.2.2.4).
    public var forbidsStale: Bool {
        ["must-revalidate", "proxy-revalidate", "s-maxage", "no-cache"].contains { control.contains($0) }
    }

    /// For how long after its expiry it may be served while the origin is asked behind the client's back
    /// (RFC 5861 §3); zero when that is not allowed, and for an error of the origin: its end must not be hidden.
    public var staleWhileRevalidate: Duration {
        forbidsStale || isServerError ? .zero : allowance("stale-while-revalidate") ?? .zero
    }

    /// For how long after its expiry it may be served instead of an error (RFC 5861 §4); `nil` when the origin does not
    /// say, zero when it forbids it, and for an error of the origin: an older error is no better than the newer one.
    public var staleIfError: Duration? {
        forbidsStale || isServerError ? .zero : allowance("stale-if-error")
    }

    /// What is no number allows nothing.
    private func allowance(_ name: String) -> Duration? {
        control.seconds(name).map { if case .valid(let duration) = $0 { duration } else { .zero } }
    }

    /// §4.2.2: a tenth of the time since the last modification.
    private static func guessed(_ fields: HTTPFields, receivedAt: Timestamp) -> Duration {
        let modified = fields[values: .lastModified].first.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
        guard let modified else { return .zero }
        let made = FreshnessLifetime.date(of: fields, receivedAt: receivedAt) ?? receivedAt
        return min(max(.zero, (made - modified) / 10), heuristicMaximum)
    }
}
