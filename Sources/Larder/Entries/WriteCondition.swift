import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// The conditions of a PUT, PATCH or DELETE: If-Match, If-None-Match and If-Unmodified-Since, in the order of RFC 9110
/// §13.2.2. (If-Modified-Since applies only to GET and HEAD, RFC 9110 §13.1.3.)
///
/// Conditions are evaluated twice: when the head of the request is complete, so that no body is sent in vain, and in
/// the transaction of the change, so that only one of several racing requests with `If-None-Match: *` succeeds.
package struct WriteCondition: Sendable {
    package static let fieldNames: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]

    private let conditions: ConditionalRequest
    private let now: Timestamp
    /// Whether the request may create an entry. If it may not and there is no entry, its conditions do not count.
    let creates: Bool

    /// `nil` when the request has no conditions.
    package init?(_ fields: HTTPFields, method: HTTPRequest.Method, at now: Timestamp) {
        guard !fields.isEmpty else { return nil }
        conditions = ConditionalRequest(fields, method: method, now: now)
        creates = method == .put
        self.now = now
    }

    /// Whether the conditions hold for an entry, fresh or stale; `nil`: no entry. They are compared with the strong
    /// ETag of the entry's body, and with the origin's `Last-Modified` or else the time of storing.
    package func holds(for entry: Entry?) -> Bool {
        guard let entry else { return conditions.evaluate(nil) == .proceed }
        var current = SelectedRepresentation(of: entry, now: now)
        current.lastModified = current.lastModified ?? entry.createdDate
        return conditions.evaluate(current) == .proceed
    }

    /// Whether a change may go on, for a resource that has neither ETag nor date, such as a namespace. Only the tag `*`
    /// matches the resource, and If-Unmodified-Since is ignored (RFC 9110 §13.1.4). If the resource does not exist,
    /// only the conditions of a request that creates it count, because any other request gets 404 (RFC 9110 §13.2.1).
    package func allows(untagged exists: Bool) -> Bool {
        guard exists || creates else { return true }
        return holds(forUntagged: exists)
    }

    /// Whether the conditions hold at the instant of the change; see ``allows(untagged:)``.
    package func holds(forUntagged exists: Bool) -> Bool {
        conditions.evaluate(exists ? SelectedRepresentation(etag: nil, lastModified: nil) : nil) == .proceed
    }
}

extension SelectedRepresentation {
    /// The validators of a body as this server sends it. The strong tag is made from the digest, not from the origin's
    /// tag, because the body may have been decoded.
    package init(of entry: Entry, now: Timestamp) {
        self.init(digestPrefix: entry.digest.prefix(16), lastModified: entry.lastModified, now: now)
    }

    package init(digestPrefix: some Sequence<UInt8>, lastModified: String?, now: Timestamp) {
        self.init(
            etag: Self.etag(digestPrefix), lastModified: lastModified.flatMap { Timestamp(httpDate: $0, now: now) })
    }

    package static func etag(_ digestPrefix: some Sequence<UInt8>) -> EntityTag {
        EntityTag(strong: digestPrefix.hex)
    }
}
