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

    /// Validators as they were stored, in Latin-1. An empty text counts as `nil`.
    public init(etag: String?, lastModified: String?) {
        self.etag = etag.flatMap { EntityTag($0) }
        self.lastModified = lastModified.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The validators of a response; of several lines of a field the first. Texts are in Latin-1, so that every byte of
    /// a tag counts (`obs-text`, RFC 9110 §8.8.3) and comes back to the origin as it was.
    public init(_ fields: HTTPFields) {
        self.init(
            etag: fields[fields: .eTag].first?.latin1, lastModified: fields[fields: .lastModified].first?.latin1)
    }

    /// Whether there is nothing to ask by.
    public var isEmpty: Bool { etag == nil && lastModified == nil }

    /// What makes a request conditional: `If-None-Match`, `If-Modified-Since`, both or neither. Both are sent when both
    /// are known; the recipient uses the first and ignores the other (RFC 9110 §13.1.3).
    public var conditionalFields: HTTPFields {
        var fields = HTTPFields()
        if let field = etag.flatMap({ HTTPField(name: .ifNoneMatch, latin1: $0.text) }) { fields.append(field) }
        if let field = lastModified.flatMap({ HTTPField(name: .ifModifiedSince, latin1: $0) }) { fields.append(field) }
        return fields
    }

    /// Whether a 304 to a request that was made conditional by these is about the response that has them (RFC 9111
    /// §4.3.4).
    ///
    /// One strong validator in common is enough: an entity tag that is strong in both, or the modification date when it
    /// is strong (RFC 9110 §8.8.2.2). So a server that compresses, and weakens the tag of a 200 but not that of its
    /// 304, is understood. A 304 with a strong tag and no strong validator in common is about something else. Otherwise
    /// every validator that both state must be the same, and there must be one; a 304 without any validator is about
    /// the response that was asked about.
    ///
    /// - Parameters:
    ///   - madeAt: when the response that has these was made, by its Date; `nil` when that is not known: then its
    ///     modification date counts as weak.
    ///   - now: for two-digit years; see `Timestamp(httpDate:now:)`.
    public func areConfirmed(by notModified: HTTPFields, madeAt: Timestamp?, now: Timestamp) -> Bool {
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
            let isStrong = StrongValidators.isStrong(lastModified: modified, madeAt: madeAt)
            if isSame, isStrong { return true }
            hasSameDate = isSame
        }
        if let tag = named.etag, !tag.isWeak { return false }
        let stated = [hasSameTag, hasSameDate].compactMap(\.self)
        return stated.isEmpty ? named.isEmpty : stated.allSatisfy(\.self)
    }

    /// Whether the entity tag of a 304, or of an answer to HEAD, may take the place of these on the response that is
    /// stored. A strong tag that differs may not, because it names other bytes than those that are stored, such as the
    /// uncompressed ones: with it a client would put the two together (RFC 9110 §13.1.5).
    public func mayBeReplaced(byTagOf newer: HTTPFields) -> Bool {
        guard etag != nil else { return true }
        return Validators(newer).etag?.isWeak ?? false
    }
}
