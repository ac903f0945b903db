import HTTPTypes
import Primitives

/// For how long an origin says that its response stays fresh in a shared cache (RFC 9111 §4.2.1), and how much of that
/// had passed when it arrived (§4.2.3).
///
/// Only what is stated counts; there is no heuristic here. `no-store`, `no-cache` and the like are for
/// ``CacheControl``.
public struct FreshnessLifetime: Hashable, Sendable {
    /// The stated lifetime, from when the origin made the response; zero when it was stale at once or what is stated
    /// cannot be read. At most ``DeltaSeconds/maximum``.
    public var lifetime: Duration
    /// How old the response was when it arrived.
    public var ageAtReceipt: Duration

    /// How long it stays fresh from its arrival on; zero when it arrived stale.
    public var remaining: Duration { max(.zero, lifetime - ageAtReceipt) }

    /// Reads a response. `nil` when the origin states nothing: then a default, or a heuristic, may be used.
    ///
    /// - Parameters:
    ///   - requestedAt: when the request was sent; `nil`: just when the answer came.
    ///   - receivedAt: when the response came.
    public init?(_ fields: HTTPFields, requestedAt: Timestamp? = nil, receivedAt: Timestamp) {
        let stated = Self.stated(fields, control: CacheControl(fields), usesExpires: true, receivedAt: receivedAt)
        guard let stated else { return nil }
        lifetime = stated
        ageAtReceipt = Self.age(fields, requestedAt: requestedAt ?? receivedAt, receivedAt: receivedAt)
    }

    /// §4.2.1: the first that is there of `s-maxage`, `max-age` and `Expires` − `Date`, even when it cannot be read.
    ///
    /// - Parameter usesExpires: false where RFC 9213 §2.2 has Expires ignored.
    static func stated(
        _ fields: HTTPFields, control: CacheControl, usesExpires: Bool, receivedAt: Timestamp
    ) -> Duration? {
        switch control.sharedMaxAge ?? control.maxAge {
        case .valid(let duration): return duration
        case .invalid: return .zero
        case nil: break
        }
        guard usesExpires, let expires = fields[values: .expires].first else { return nil }
        // §5.3: an invalid date, "0" above all, is in the past.
        guard let expiry = Timestamp(httpDate: expires, now: receivedAt) else { return .zero }
        // RFC 9110 §6.6.1: a response without a Date was made when it was received.
        return min(max(.zero, expiry - (date(of: fields, receivedAt: receivedAt) ?? receivedAt)), DeltaSeconds.maximum)
    }

    /// §4.2.3: `corrected_initial_age`.
    static func age(_ fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) -> Duration {
        // A Date is cut to the second. So is the time that it is compared with, or nothing would ever arrive fresh
        // that is fresh for a second.
        let received = Timestamp(seconds: receivedAt.milliseconds / 1000)
        let apparentAge = date(of: fields, receivedAt: receivedAt).map { max(.zero, received - $0) } ?? .zero
        let responseDelay = max(.zero, receivedAt - requestedAt)
        return min(max(apparentAge, (Self.ageField(fields) ?? .zero) + responseDelay), DeltaSeconds.maximum)
    }

    /// When the origin made the response; `nil` when it does not say so in a date that can be read.
    static func date(of fields: HTTPFields, receivedAt: Timestamp) -> Timestamp? {
        fields[values: .date].first.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
    }

    /// §5.1: of a list, or of several lines, the first member; what is no number is ignored.
    private static func ageField(_ fields: HTTPFields) -> Duration? {
        guard let line = fields[values: .age].first else { return nil }
        let member = line.prefix { $0 != "," }
        return DeltaSeconds.parse(member.trimmingSpace())
    }
}

extension Substring {
    /// Without the SP and HTAB at both ends.
    fileprivate func trimmingSpace() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
