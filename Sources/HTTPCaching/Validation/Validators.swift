import HTTPTypes
import Primitives

/// The validators with which an origin can be asked whether a stored response is still valid (RFC 9111 §4.3.1).
package struct Validators: Hashable, Sendable {
    /// `nil` when absent or malformed: If-None-Match has no syntax for a text without quotes, and `*` matches any tag.
    package let etag: EntityTag?
    /// As received.
    package let lastModified: String?

    /// The texts are in Latin-1. An empty text counts as `nil`.
    package init(etag: String?, lastModified: String?) {
        self.etag = etag.flatMap { EntityTag($0) }
        self.lastModified = lastModified.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Takes the first line of each field, in Latin-1, so that all bytes of a tag count (`obs-text`, RFC 9110 §8.8.3).
    package init(_ fields: HTTPFields) {
        self.init(
            etag: fields[fields: .eTag].first?.latin1, lastModified: fields[fields: .lastModified].first?.latin1)
    }

    package var isEmpty: Bool { etag == nil && lastModified == nil }

    /// `If-None-Match` for an entity tag, `If-Modified-Since` for a date. A recipient prefers a tag (RFC 9110 §13.1.3).
    package var conditionalFields: HTTPFields {
        var fields = HTTPFields()
        if let field = etag.flatMap({ HTTPField(name: .ifNoneMatch, latin1: $0.text) }) { fields.append(field) }
        if let field = lastModified.flatMap({ HTTPField(name: .ifModifiedSince, latin1: $0) }) { fields.append(field) }
        return fields
    }

    /// Whether a 304 applies to the response with these validators, which made the request conditional (RFC 9111
    /// §4.3.4). `madeAt` is the Date of the response; without it the modification date counts as weak. `now`: see
    /// `Timestamp(httpDate:now:)`. The first rule that fits decides:
    /// - A 304 with an equal strong validator applies: a tag that is strong on both sides, or a strong modification
    ///   date (RFC 9110 §8.8.2.2). Any other 304 with a strong tag does not apply.
    /// - If both sides state an entity tag or both state a date, the 304 applies if all such pairs are equal.
    /// - Otherwise a 304 applies only if it has no validator.
    package func areConfirmed(by notModified: HTTPFields, madeAt: Timestamp?, now: Timestamp) -> Bool {
        let named = Validators(notModified)
        var hasSameTag: Bool?
        if let etag, let tag = named.etag {
            if etag.matches(tag, comparison: .strong) { return true }
            hasSameTag = etag.matches(tag, comparison: .weak)
        }
        var hasSameDate: Bool?
        if let lastModified, let date = named.lastModified {
            let modified = Timestamp(httpDate: lastModified, now: now)
            let isSame =
                date == lastModified || (modified.map { Timestamp(httpDate: date, now: now) == $0 } ?? false)
            let isStrong = Self.isStrong(lastModified: modified, madeAt: madeAt)
            if isSame, isStrong { return true }
            hasSameDate = isSame
        }
        if let tag = named.etag, !tag.isWeak { return false }
        let stated = [hasSameTag, hasSameDate].compactMap(\.self)
        return stated.isEmpty ? named.isEmpty : stated.allSatisfy(\.self)
    }

    /// Whether a modification date is a strong validator (RFC 9110 §8.8.2.2); `madeAt` is the Date of its answer.
    static func isStrong(lastModified: Timestamp?, madeAt: Timestamp?) -> Bool {
        guard let lastModified, let madeAt else { return false }
        return madeAt - lastModified >= .seconds(1)
    }

    /// Whether a newer entity tag may replace the stored tag. A strong tag may not, because it may name bytes that are
    /// not stored, such as the uncompressed bytes, and If-Range would combine parts of both (RFC 9110 §13.1.5).
    package func mayBeReplaced(byTagOf newer: HTTPFields) -> Bool {
        guard etag != nil else { return true }
        return Validators(newer).etag?.isWeak ?? false
    }
}

/// Validators of a single sequence of bytes (RFC 9110 §8.8.1), which show that two parts belong together.
struct StrongValidators: Hashable {
    let etag: EntityTag?
    /// `nil` unless Date is at least 1 s later. Otherwise, another change may have the same date (RFC 9110 §8.8.2.2).
    let lastModified: Timestamp?
    /// Whether the entity tag is weak. Equal dates then do not imply equal bytes.
    private let hasWeakTag: Bool

    init(_ fields: HTTPFields, receivedAt: Timestamp) {
        let validators = Validators(fields)
        hasWeakTag = validators.etag?.isWeak ?? false
        etag = hasWeakTag ? nil : validators.etag
        let modified = validators.lastModified.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
        let date = FreshnessLifetime.date(of: fields, receivedAt: receivedAt)
        lastModified = Validators.isStrong(lastModified: modified, madeAt: date) ? modified : nil
    }

    /// Whether no validator can show that two parts belong together.
    var isEmpty: Bool { etag == nil && (lastModified == nil || hasWeakTag) }

    /// The entity tags decide if either response has a tag.
    func matches(_ other: StrongValidators) -> Bool {
        if let etag { return other.etag.map { etag.matches($0, comparison: .strong) } ?? false }
        return !isEmpty && other.etag == nil && !other.hasWeakTag && lastModified == other.lastModified
    }
}
