import HTTPTypes
import Primitives

/// The properties of a representation that the conditions of a request are compared with.
package struct SelectedRepresentation: Hashable, Sendable {
    /// The entity tag; `nil` without an entity tag.
    package var etag: EntityTag?
    /// The modification date; `nil` when it is unknown. Comparisons use whole seconds.
    package var lastModified: Timestamp?
    /// Whether no two versions can share this modification date. Only such a date may guard a range (RFC 9110
    /// §8.8.2.2).
    package var isLastModifiedStrong: Bool
    /// The time at which the origin generated a stored response. It replaces a missing modification date in
    /// If-Modified-Since, for stored responses only (RFC 9111 §4.3.2), but not in If-Unmodified-Since (RFC 9110
    /// §13.1.4). `nil`: no replacement.
    package var madeAt: Timestamp?

    /// Creates a representation; by default with a weak modification date and without a replacement for a missing date.
    package init(
        etag: EntityTag?, lastModified: Timestamp?, isLastModifiedStrong: Bool = false, madeAt: Timestamp? = nil
    ) {
        self.etag = etag
        self.lastModified = lastModified
        self.isLastModifiedStrong = isLastModifiedStrong
        self.madeAt = madeAt
    }
}

/// The conditions of a request and their evaluation (RFC 9110 §13).
package struct ConditionalRequest: Hashable, Sendable {
    /// The action of a server after evaluating the conditions.
    package enum Outcome: Hashable, Sendable {
        case proceed
        /// Answer 304; only for GET and HEAD.
        case notModified
        /// Answer 412.
        case preconditionFailed
    }

    /// The fields that state conditions (§13.1).
    package static let fieldNames: [HTTPField.Name] = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    private let method: HTTPRequest.Method
    private let ifMatch: EntityTagCondition?
    private let ifNoneMatch: EntityTagCondition?
    private let ifModifiedSince: Timestamp?
    private let ifUnmodifiedSince: Timestamp?
    private let ifRange: String?

    /// Reads the conditions of a request.
    ///
    /// - Parameter now: the current time, for two-digit years; see `Timestamp(httpDate:now:)`.
    package init(_ fields: HTTPFields, method: HTTPRequest.Method, now: Timestamp) {
        func tags(_ name: HTTPField.Name) -> EntityTagCondition? {
            let lines = fields[fields: name].map(\.latin1)
            return lines.isEmpty ? nil : EntityTagCondition(lines)
        }
        // §13.1.3, §13.1.4: a field that is not a single valid date is ignored.
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

    /// Evaluates the conditions in the order of §13.2.2, except If-Range: see ``allowsRange(of:now:)``.
    ///
    /// - Parameter current: the current representation; `nil` when none exists.
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

    /// Whether a Range may be answered with a part (§13.1.5): If-Range is absent, or it names exactly the current
    /// representation. Otherwise the whole representation is sent.
    ///
    /// - Parameter now: the current time, for two-digit years.
    package func allowsRange(of current: SelectedRepresentation, now: Timestamp) -> Bool {
        guard let ifRange else { return true }
        if let tag = EntityTag(ifRange) { return current.etag?.matches(tag, comparison: .strong) ?? false }
        guard current.isLastModifiedStrong, let modified = current.lastModified else { return false }
        return Timestamp(httpDate: ifRange, now: now) == Self.second(of: modified)
    }

    /// Whether a list of tags names the current representation. `*` names any representation, with or without a tag.
    private func matches(
        _ condition: EntityTagCondition, _ current: SelectedRepresentation, _ comparison: EntityTag.Comparison
    ) -> Bool {
        guard let etag = current.etag else { return condition.isAny }
        return condition.names(etag, comparison: comparison)
    }

    /// Cuts an instant to whole seconds, because a field cannot state more.
    private static func second(of instant: Timestamp) -> Timestamp {
        Timestamp(seconds: instant.milliseconds / 1000)
    }
}
