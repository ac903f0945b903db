import HTTPTypes
import Primitives

/// What there is to compare the conditions of a request with.
public struct SelectedRepresentation: Hashable, Sendable {
    /// The entity tag; `nil` without one.
    public var etag: EntityTag?
    /// The modification date; `nil` when it is not known. Only whole seconds of it are compared.
    public var lastModified: Timestamp?
    /// Whether no two versions can have had this date: only then may it guard a range (RFC 9110 §8.8.2.2).
    public var isLastModifiedStrong: Bool
    /// When the origin made a stored response, for which alone it stands in for a missing modification date in
    /// If-Modified-Since (RFC 9111 §4.3.2); not in If-Unmodified-Since (RFC 9110 §13.1.4). `nil`: nothing stands in.
    public var madeAt: Timestamp?

    /// A representation; by default one whose modification date, when it has one, is weak, and for which nothing stands
    /// in.
    public init(
        etag: EntityTag?, lastModified: Timestamp?, isLastModifiedStrong: Bool = false, madeAt: Timestamp? = nil
    ) {
        self.etag = etag
        self.lastModified = lastModified
        self.isLastModifiedStrong = isLastModifiedStrong
        self.madeAt = madeAt
    }
}

/// The conditions that a request makes, and whether they hold (RFC 9110 §13).
public struct ConditionalRequest: Hashable, Sendable {
    /// What a server does after it looked at the conditions.
    public enum Outcome: Hashable, Sendable {
        /// Perform the request.
        case proceed
        /// Answer 304: only for GET and HEAD.
        case notModified
        /// Answer 412.
        case preconditionFailed
    }

    /// The fields that conditions are made with (§13.1).
    public static let fieldNames: [HTTPField.Name] = [
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ]

    private let method: HTTPRequest.Method
    private let ifMatch: EntityTagCondition?
    private let ifNoneMatch: EntityTagCondition?
    private let ifModifiedSince: Timestamp?
    private let ifUnmodifiedSince: Timestamp?
    private let ifRange: String?

    /// Reads a request's conditions.
    ///
    /// - Parameter now: for two-digit years; see `Timestamp(httpDate:now:)`.
    public init(_ fields: HTTPFields, method: HTTPRequest.Method, now: Timestamp) {
        func tags(_ name: HTTPField.Name) -> EntityTagCondition? {
            let lines = fields[fields: name].map(\.latin1)
            return lines.isEmpty ? nil : EntityTagCondition(lines)
        }
        // §13.1.3, §13.1.4: what is not one valid date is ignored.
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

    /// Goes through the conditions in the order of §13.2.2. If-Range is not among them: see
    /// ``allowsRange(of:now:)``.
    ///
    /// - Parameter current: what is there; `nil` when nothing is there yet, or nothing any more.
    public func evaluate(_ current: SelectedRepresentation?) -> Outcome {
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

    /// Whether a Range may be answered with a part (§13.1.5): there is no If-Range, or it names exactly what is there.
    /// Otherwise the whole is sent.
    ///
    /// - Parameter now: for two-digit years.
    public func allowsRange(of current: SelectedRepresentation, now: Timestamp) -> Bool {
        guard let ifRange else { return true }
        if let tag = EntityTag(ifRange) { return current.etag?.matches(tag, comparison: .strong) ?? false }
        guard current.isLastModifiedStrong, let modified = current.lastModified else { return false }
        return Timestamp(httpDate: ifRange, now: now) == Self.second(of: modified)
    }

    /// `*` holds when there is any representation at all, with a tag or without.
    private func matches(
        _ condition: EntityTagCondition, _ current: SelectedRepresentation, _ comparison: EntityTag.Comparison
    ) -> Bool {
        guard let etag = current.etag else { return condition.isAny }
        return condition.names(etag, comparison: comparison)
    }

    /// A field can only state whole seconds.
    private static func second(of instant: Timestamp) -> Timestamp {
        Timestamp(seconds: instant.milliseconds / 1000)
    }
}
