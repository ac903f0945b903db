import HTTPTypes
import Primitives

/// The properties of a representation that the conditions of a request are compared with.
package struct SelectedRepresentation: Hashable, Sendable {
    package var etag: EntityTag?
    /// `nil` when it is unknown. Comparisons use whole seconds.
    package var lastModified: Timestamp?
    /// Whether no two versions can have this date (RFC 9110 §8.8.2.2). If-Range requires such a strong date.
    package var isLastModifiedStrong: Bool
    /// The time at which the origin generated a stored response. Replaces a missing modification date in
    /// If-Modified-Since (RFC 9111 §4.3.2), but not in If-Unmodified-Since (RFC 9110 §13.1.4). `nil`: no replacement.
    package var madeAt: Timestamp?

    package init(
        etag: EntityTag?, lastModified: Timestamp?, isLastModifiedStrong: Bool = false, madeAt: Timestamp? = nil
    ) {
        self.etag = etag
        self.lastModified = lastModified
        self.isLastModifiedStrong = isLastModifiedStrong
        self.madeAt = madeAt
    }

    init(of stored: HTTPFields, now: Timestamp) {
        let validators = Validators(stored)
        let modified = validators.lastModified.flatMap { Timestamp(httpDate: $0, now: now) }
        let made = FreshnessLifetime.date(of: stored, receivedAt: now)
        self.init(
            etag: validators.etag, lastModified: modified,
            isLastModifiedStrong: Validators.isStrong(lastModified: modified, madeAt: made),
            // RFC 9111 §4.3.2: Date replaces a missing Last-Modified, but not an unreadable Last-Modified.
            madeAt: stored.contains(.lastModified) ? nil : made)
    }
}

/// The conditions of a request and their evaluation (RFC 9110 §13).
package struct ConditionalRequest: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case proceed
        /// Only for GET and HEAD.
        case notModified
        case preconditionFailed
    }

    /// RFC 9110 §13.1.
    package static let fieldNames: [HTTPField.Name] = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    private let method: HTTPRequest.Method
    private let ifMatch: EntityTagCondition?
    private let ifNoneMatch: EntityTagCondition?
    private let ifModifiedSince: Timestamp?
    private let ifUnmodifiedSince: Timestamp?
    private let ifRange: String?

    /// `now` decides the century of two-digit years; see `Timestamp(httpDate:now:)`.
    package init(_ fields: HTTPFields, method: HTTPRequest.Method, now: Timestamp) {
        func tags(_ name: HTTPField.Name) -> EntityTagCondition? {
            let lines = fields[fields: name].map(\.latin1)
            return lines.isEmpty ? nil : EntityTagCondition(lines)
        }
        // RFC 9110 §13.1.3, §13.1.4: a field that is not a single valid date is ignored.
        func date(_ name: HTTPField.Name) -> Timestamp? {
            let lines = fields[values: name]
            return lines.count == 1 ? Timestamp(httpDate: lines[0], now: now) : nil
        }
        self.method = method
        ifMatch = tags(.ifMatch)
        ifNoneMatch = tags(.ifNoneMatch)
        ifModifiedSince = date(.ifModifiedSince)
        ifUnmodifiedSince = date(.ifUnmodifiedSince)
        ifRange = fields[fields: .ifRange].first?.latin1
    }

    /// Checks all conditions except If-Range (RFC 9110 §13.2.2). `current` is `nil` when no representation exists.
    package func evaluate(_ current: SelectedRepresentation?) -> Outcome {
        let isRead = method == .get || method == .head
        if let ifMatch {
            guard let current, matches(ifMatch, current, .strong) else { return .preconditionFailed }
        } else if let ifUnmodifiedSince, let modified = current?.lastModified {
            guard Self.second(of: modified) <= ifUnmodifiedSince else { return .preconditionFailed }
        }
        if let ifNoneMatch {
            if let current, matches(ifNoneMatch, current, .weak) { return isRead ? .notModified : .preconditionFailed }
        } else if isRead, let ifModifiedSince, let modified = current?.lastModified ?? current?.madeAt {
            if Self.second(of: modified) <= ifModifiedSince { return .notModified }
        }
        return .proceed
    }

    /// Whether the answer may be a part (RFC 9110 §13.1.5): If-Range is absent, or matches the current representation.
    package func allowsRange(of current: SelectedRepresentation, now: Timestamp) -> Bool {
        guard let ifRange else { return true }
        if let tag = EntityTag(ifRange) { return current.etag?.matches(tag, comparison: .strong) ?? false }
        guard current.isLastModifiedStrong, let modified = current.lastModified else { return false }
        return Timestamp(httpDate: ifRange, now: now) == Self.second(of: modified)
    }

    /// `*` matches any representation, with or without an entity tag.
    private func matches(
        _ condition: EntityTagCondition, _ current: SelectedRepresentation, _ comparison: EntityTag.Comparison
    ) -> Bool {
        guard let etag = current.etag else { return condition.isAny }
        return condition.names(etag, comparison: comparison)
    }

    /// The instant without its fraction of a second, because a field states whole seconds.
    private static func second(of instant: Timestamp) -> Timestamp {
        Timestamp(seconds: instant.milliseconds / 1000)
    }
}
