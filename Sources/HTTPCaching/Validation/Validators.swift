import HTTPTypes
import Primitives

/// By what an origin can be asked whether a stored response is still right (RFC 9111 §4.3.1).
public struct Validators: Hashable, Sendable {
    /// The entity tag; `nil` when there is none, or what was sent is none.
    ///
    /// Something without quotes is not used: nobody can be asked about it in the grammar of If-None-Match, and a `*`
    /// there would match anything.
    public let etag: EntityTag?
    /// `Last-Modified` as it was sent; `nil` when there is none.
    public let lastModified: String?

    /// Validators as they were stored. An empty text counts as `nil`.
    public init(etag: String?, lastModified: String?) {
        self.etag = etag.flatMap { EntityTag($0) }
        self.lastModified = lastModified.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Those of a response; of several lines of a field the first.
    public init(_ fields: HTTPFields) {
        self.init(etag: fields[values: .eTag].first, lastModified: fields[values: .lastModified].first)
    }

    /// Whether there is nothing to ask by.
    public var isEmpty: Bool { etag == nil && lastModified == nil }

    /// What makes a request conditional: `If-None-Match`, `If-Modified-Since`, both or neither. Both are sent when both
    /// are known; the recipient uses the first and ignores the other (RFC 9110 §13.1.3).
    public var conditionalFields: HTTPFields {
        var fields = HTTPFields()
        if let etag { fields[.ifNoneMatch] = etag.text }
        if let lastModified { fields[.ifModifiedSince] = lastModified }
        return fields
    }

    /// Whether a 304 to a request that was made conditional by these is about the response that has them (RFC 9111
    /// §4.3.4): where both state an entity tag, it must be the same, and strong in both when it is in the 304;
    /// otherwise, where both state a modification date, that must be the same. One without validators is about what was
    /// asked about.
    ///
    /// - Parameter now: for two-digit years; see `Timestamp(httpDate:now:)`.
    public func areConfirmed(by notModified: HTTPFields, now: Timestamp) -> Bool {
        let named = Validators(notModified)
        if let tag = named.etag, let etag {
            return etag.matches(tag, comparison: tag.isWeak ? .weak : .strong)
        }
        if let modified = named.lastModified, let lastModified {
            return Timestamp(httpDate: modified, now: now) == Timestamp(httpDate: lastModified, now: now)
        }
        return named.isEmpty
    }
}
