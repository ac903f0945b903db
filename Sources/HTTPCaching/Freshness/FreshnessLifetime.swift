import HTTPTypes
import Primitives

/// The freshness lifetime that an origin states for a shared cache (RFC 9111 §4.2.1), without a heuristic, and the age
/// of the response on arrival (§4.2.3). ``CacheControl`` handles `no-store`, `no-cache` and other directives.
package struct FreshnessLifetime: Hashable, Sendable {
    /// Counted from the generation of the response at the origin. Zero when the response was stale at once or the
    /// stated lifetime is unreadable. At most ``DeltaSeconds/maximum``.
    package var lifetime: Duration
    package var ageAtReceipt: Duration

    /// Counted from arrival; zero when the response arrived stale.
    package var remaining: Duration { max(.zero, lifetime - ageAtReceipt) }

    /// `nil` when the origin states no lifetime: use a default or a heuristic. `requestedAt` defaults to `receivedAt`.
    package init?(_ fields: HTTPFields, requestedAt: Timestamp? = nil, receivedAt: Timestamp) {
        let stated = Self.stated(fields, control: CacheControl(fields), usesExpires: true, receivedAt: receivedAt)
        guard let stated else { return nil }
        lifetime = stated
        ageAtReceipt = Self.age(fields, requestedAt: requestedAt ?? receivedAt, receivedAt: receivedAt)
    }

    /// The first present of `s-maxage`, `max-age` and `Expires` − `Date`, even when its value is unreadable (§4.2.1).
    /// `usesExpires` is `false` when RFC 9213 §2.2 requires that `Expires` is ignored.
    static func stated(
        _ fields: HTTPFields, control: CacheControl, usesExpires: Bool, receivedAt: Timestamp
    ) -> Duration? {
        switch control.sharedMaxAge ?? control.maxAge {
        case .valid(let duration): return duration
        case .invalid: return .zero
        case nil: break
        }
        guard usesExpires, let expires = fields[values: .expires].first else { return nil }
        // §5.3: an invalid date, especially "0", lies in the past.
        guard let expiry = Timestamp(httpDate: expires, now: receivedAt) else { return .zero }
        // RFC 9110 §6.6.1: a response without a Date was generated when it was received.
        return min(max(.zero, expiry - (date(of: fields, receivedAt: receivedAt) ?? receivedAt)), DeltaSeconds.maximum)
    }

    /// §4.2.3: `corrected_initial_age`.
    static func age(_ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) -> Duration {
        // Cut to whole seconds, like a Date, because a lifetime of one second would otherwise never arrive fresh.
        let received = Timestamp(seconds: receivedAt.milliseconds / 1000)
        let apparentAge = date(of: fields, receivedAt: receivedAt).map { max(.zero, received - $0) } ?? .zero
        let responseDelay = max(.zero, receivedAt - requestedAt)
        return min(max(apparentAge, (Self.ageField(fields) ?? .zero) + responseDelay), DeltaSeconds.maximum)
    }

    /// `nil` without a readable Date.
    static func date(of fields: HTTPFields, receivedAt: Timestamp) -> Timestamp? {
        fields[values: .date].first.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
    }

    /// The first line of Age (§5.1), and the first member of a list. `nil` when that is not a number.
    private static func ageField(_ fields: HTTPFields) -> Duration? {
        guard let line = fields[values: .age].first else { return nil }
        let member = line.prefix { $0 != "," }
        return DeltaSeconds.parse(member.trimmingSpace())
    }
}
