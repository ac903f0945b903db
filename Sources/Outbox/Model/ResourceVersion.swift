/// One version of a resource: the body, and the validator under which the origin knows it.
package struct ResourceVersion: Hashable, Sendable {
    /// `nil`: the body was longer than ``OutboxLimits/changeBytes``, or the namespace had no room for it, so only its
    /// digest is known.
    package var body: [UInt8]?
    package var digest: BodyDigest
    /// `nil`: the origin has no sound strong validator for the version.
    package var validator: Validator?

    package init(body: [UInt8], validator: Validator?) {
        self.body = body
        digest = BodyDigest(of: body)
        self.validator = validator
    }

    package init(body: [UInt8]?, digest: BodyDigest, validator: Validator?) {
        self.body = body
        self.digest = digest
        self.validator = validator
    }

    /// The bytes that the version takes in the store, without the digest.
    var byteCount: Int { (body?.count ?? 0) + (validator?.etag.utf8.count ?? 0) }
}

/// The version that the author of a change saw.
package enum Base: Hashable, Sendable {
    case version(ResourceVersion)
    /// The author saw that there is no resource. The change creates it, under `If-None-Match: *`.
    case absent
    /// The author does not care about the version. The change is sent without a precondition.
    case blind

    package var version: ResourceVersion? { if case .version(let version) = self { version } else { nil } }
}
