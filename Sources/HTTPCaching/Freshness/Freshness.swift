import HTTPTypes
import Primitives

/// The times for which a shared cache may use an answer without asking the origin, fresh and stale (RFC 9111 §4.2).
package struct Freshness: Hashable, Sendable {
    /// The directives of the first readable targeted field (RFC 9213), otherwise those of Cache-Control.
    package let control: CacheControl
    /// Begins when the origin generates the answer (RFC 9111 §4.2.1). Zero for an answer that was never fresh.
    package let lifetime: Duration
    /// Whether the origin stated the lifetime. Otherwise the lifetime is heuristic (RFC 9111 §4.2.2) and may be zero.
    package let isExplicit: Bool
    /// RFC 9111 §4.2.3: `corrected_initial_age`.
    package let ageAtReceipt: Duration
    /// Whether the status is 5xx. A stored 5xx is never served because of a newer failure.
    package let isServerError: Bool
    /// Whether the status is 4xx or 5xx. A stored error is never served in place of a newer error answer.
    package let isError: Bool
    private let receivedAt: Timestamp

    package static let heuristicMaximum = Duration.seconds(7 * 86_400)
    /// The statuses that permit a heuristic lifetime without `public` (RFC 9110 §15.1).
    package static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    init(_ status: Int, _ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        let (control, isTargeted) = TargetedCacheControl.effective(fields)
        let stated = FreshnessLifetime.stated(
            fields, control: control, usesExpires: !isTargeted, receivedAt: receivedAt)
        // RFC 9111 §7.3: a cookie is for a single client, so an answer with a cookie gets no heuristic lifetime.
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

    /// RFC 9111 §4.2.3: `current_age`, in milliseconds. At least the age at receipt, even if the clock is set back.
    package func currentAge(at now: Timestamp) -> Duration {
        ageAtReceipt + max(.zero, now - receivedAt)
    }

    /// The time until the answer becomes stale; zero or negative once it is stale.
    package func remaining(at now: Timestamp) -> Duration {
        lifetime - currentAge(at: now)
    }

    /// RFC 9111 §4.2. Does not consider `no-cache`.
    package func isFresh(at now: Timestamp) -> Bool {
        remaining(at: now) > .zero
    }

    /// The instant at which the answer becomes stale; with `no-cache`, the instant of receipt.
    package var expiryDate: Timestamp {
        control.noCache ? receivedAt : receivedAt + (lifetime - ageAtReceipt)
    }

    /// Whether the origin forbids to serve the stale answer (RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.4, §5.2.2.8, §5.2.2.10).
    package var forbidsStale: Bool {
        ["must-revalidate", "proxy-revalidate", "s-maxage", "no-cache"].contains { control.contains($0) }
    }

    /// The time after expiry in which the answer may be used while a background request revalidates it (RFC 5861 §3).
    /// Zero when the origin does not allow this, and for a server error, because clients must see when the error ends.
    package var staleWhileRevalidate: Duration {
        forbidsStale || isServerError ? .zero : allowance("stale-while-revalidate") ?? .zero
    }

    /// The time after expiry in which the answer may replace an error (RFC 5861 §4). `nil` when the origin does not
    /// state it, zero when the origin forbids it. Zero for a server error, because an older error is no better.
    package var staleIfError: Duration? {
        forbidsStale || isServerError ? .zero : allowance("stale-if-error")
    }

    /// A value that is not a number counts as zero.
    private func allowance(_ name: String) -> Duration? {
        control.seconds(name).map { if case .valid(let duration) = $0 { duration } else { .zero } }
    }

    /// RFC 9111 §4.2.2: a tenth of the time since the last modification.
    private static func guessed(_ fields: HTTPFields, receivedAt: Timestamp) -> Duration {
        let modified = fields[values: .lastModified].first.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
        guard let modified else { return .zero }
        let made = FreshnessLifetime.date(of: fields, receivedAt: receivedAt) ?? receivedAt
        return min(max(.zero, (made - modified) / 10), heuristicMaximum)
    }
}

/// The freshness lifetime that an origin states for a shared cache (RFC 9111 §4.2.1), without a heuristic, and the age
/// of the response at receipt (§4.2.3). ``CacheControl`` handles `no-store`, `no-cache` and other directives.
package struct FreshnessLifetime: Hashable, Sendable {
    /// Begins when the origin generates the response. Zero when the response was never fresh, or when the stated
    /// lifetime is unreadable. At most ``DeltaSeconds/maximum``.
    package var lifetime: Duration
    package var ageAtReceipt: Duration
    /// Counted from receipt; zero when the response was stale at receipt.
    package var remaining: Duration { max(.zero, lifetime - ageAtReceipt) }

    /// `nil` when the origin states no lifetime: use a default or a heuristic. `requestedAt` defaults to `receivedAt`.
    package init?(_ fields: HTTPFields, requestedAt: Timestamp? = nil, receivedAt: Timestamp) {
        let stated = Self.stated(fields, control: CacheControl(fields), usesExpires: true, receivedAt: receivedAt)
        guard let stated else { return nil }
        lifetime = stated
        ageAtReceipt = Self.age(fields, requestedAt: requestedAt ?? receivedAt, receivedAt: receivedAt)
    }

    /// The lifetime by the first of `s-maxage`, `max-age` and `Expires` − `Date` that is present, even with an
    /// unreadable value (§4.2.1). `usesExpires` is `false` when RFC 9213 §2.2 requires that `Expires` is ignored.
    static func stated(
        _ fields: HTTPFields, control: CacheControl, usesExpires: Bool, receivedAt: Timestamp
    ) -> Duration? {
        switch control.sharedMaxAge ?? control.maxAge {
        case .valid(let duration): return duration
        case .invalid: return .zero
        case nil: break
        }
        guard usesExpires, let expires = fields[values: .expires].first else { return nil }
        // RFC 9111 §5.3: an invalid date, especially "0", counts as a date in the past.
        guard let expiry = Timestamp(httpDate: expires, now: receivedAt) else { return .zero }
        // RFC 9110 §6.6.1: a response without a Date was generated when it was received.
        return min(max(.zero, expiry - (date(of: fields, receivedAt: receivedAt) ?? receivedAt)), DeltaSeconds.maximum)
    }

    /// RFC 9111 §4.2.3: `corrected_initial_age`.
    static func age(_ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) -> Duration {
        // Whole seconds, as in Date. Otherwise a lifetime of one second would always be over at receipt.
        let received = Timestamp(seconds: receivedAt.milliseconds / 1000)
        let apparentAge = date(of: fields, receivedAt: receivedAt).map { max(.zero, received - $0) } ?? .zero
        let responseDelay = max(.zero, receivedAt - requestedAt)
        // The first member of the first line of Age (RFC 9111 §5.1) counts, if it is a number.
        let stated = fields[values: .age].first.flatMap { DeltaSeconds.parse($0.prefix { $0 != "," }.trimmingSpace()) }
        return min(max(apparentAge, (stated ?? .zero) + responseDelay), DeltaSeconds.maximum)
    }

    /// `nil` without a readable Date.
    static func date(of fields: HTTPFields, receivedAt: Timestamp) -> Timestamp? {
        fields[values: .date].first.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
    }
}

/// Caches the ``Freshness`` of a stored response, for all copies of the response. All memos are equal, so that they
/// never make responses unequal. ``StoredResponse`` replaces its memo when an input of the freshness changes.
final class FreshnessMemo: Hashable, Sendable {
    private let known: Locked<Freshness?>

    init(_ freshness: Freshness? = nil) {
        known = Locked(freshness)
    }

    func freshness(_ make: () -> Freshness) -> Freshness {
        if let freshness = known.withLock({ $0 }) { return freshness }
        let freshness = make()
        known.withLock { $0 = freshness }
        return freshness
    }

    static func == (_: FreshnessMemo, _: FreshnessMemo) -> Bool { true }
    func hash(into _: inout Hasher) {}
}
