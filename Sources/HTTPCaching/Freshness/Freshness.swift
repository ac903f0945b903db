import HTTPTypes
import Primitives

/// How long a shared cache may use an answer without the origin, and the permitted uses afterwards (RFC 9111 §4.2).
package struct Freshness: Hashable, Sendable {
    /// From the first targeted field (RFC 9213), otherwise from Cache-Control.
    package let control: CacheControl
    /// Counted from the generation of the answer at the origin (§4.2.1). Zero when the answer was stale at once.
    package let lifetime: Duration
    /// Whether the origin stated the lifetime. Otherwise it is heuristic (§4.2.2) and may be zero.
    package let isExplicit: Bool
    /// §4.2.3: `corrected_initial_age`.
    package let ageAtReceipt: Duration
    /// A 5xx never replaces a newer failure.
    package let isServerError: Bool
    /// A 4xx or 5xx never replaces a newer error.
    package let isError: Bool
    private let receivedAt: Timestamp

    package static let heuristicMaximum = Duration.seconds(7 * 86_400)
    /// The statuses that permit a heuristic lifetime without `public` (RFC 9110 §15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    init(_ status: Int, _ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        let (control, isTargeted) = TargetedCacheControl.effective(fields)
        let stated = FreshnessLifetime.stated(
            fields, control: control, usesExpires: !isTargeted, receivedAt: receivedAt)
        // §7.3: a cookie is meant for a single client, so an answer with a cookie gets no heuristic lifetime.
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

    /// §4.2.3: `current_age`, in milliseconds. Setting the clock back never makes an answer younger than on arrival.
    package func currentAge(at now: Timestamp) -> Duration {
        ageAtReceipt + max(.zero, now - receivedAt)
    }

    /// Until the answer becomes stale; zero or negative once it is stale.
    package func remaining(at now: Timestamp) -> Duration {
        lifetime - currentAge(at: now)
    }

    /// §4.2. Does not consider `no-cache`.
    package func isFresh(at now: Timestamp) -> Bool {
        remaining(at: now) > .zero
    }

    /// Afterwards every use needs the origin. With `no-cache`, the instant of receipt.
    package var expiryDate: Timestamp {
        control.noCache ? receivedAt : receivedAt + (lifetime - ageAtReceipt)
    }

    /// §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10, §5.2.2.4.
    package var forbidsStale: Bool {
        ["must-revalidate", "proxy-revalidate", "s-maxage", "no-cache"].contains { control.contains($0) }
    }

    /// After expiry, while a background request revalidates the answer (RFC 5861 §3). Zero when the origin does not
    /// allow it, and for a server error, because clients must see when the error ends.
    package var staleWhileRevalidate: Duration {
        forbidsStale || isServerError ? .zero : allowance("stale-while-revalidate") ?? .zero
    }

    /// After expiry, in place of an error (RFC 5861 §4). `nil` when the origin does not state it, zero when the origin
    /// forbids it. Zero for a server error, because an older error is no better than the newer error.
    package var staleIfError: Duration? {
        forbidsStale || isServerError ? .zero : allowance("stale-if-error")
    }

    /// A value that is not a number counts as zero.
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
