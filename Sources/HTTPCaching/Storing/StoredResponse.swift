import HTTPTypes
import Primitives

/// The stored metadata of an answer: everything except the body.
package struct StoredResponse: Hashable, Sendable {
    package var url: String
    package var status: Int { didSet { memo = FreshnessMemo() } }
    /// Served unchanged and in their order.
    package var fields: HTTPFields { didSet { memo = FreshnessMemo() } }
    /// Of the request for the answer, or for its last validation.
    package var requestedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    package var receivedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    package var selection: SelectingFields
    /// The bytes of the representation in the body; `nil`: all bytes.
    package var part: Range<Int64>?
    /// Of the whole representation; `nil` when the origin did not state it. For a complete body this is first the
    /// declared length. The code that stores the body replaces it with the received length.
    package var completeLength: Int64?
    /// Must be validated before reuse, fresh or not, because an unsafe request may have changed the resource (RFC 9111
    /// §4.4), or because the answer to a HEAD request differed (§4.3.5).
    package var isInvalid: Bool
    /// `nil` when no caller's ttl was involved.
    package var grant: CallerGrant?
    /// Whether a caller has changed the expiry of the stored entry. The new expiry applies to all callers instead of
    /// the origin's lifetime, until the next answer or validation from the origin.
    package var isExpirySet = false
    /// Serving a request asks for ``freshness`` several times.
    private var memo = FreshnessMemo()

    package init(
        url: String, status: Int, fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp,
        selection: SelectingFields, part: Range<Int64>? = nil, completeLength: Int64? = nil, isInvalid: Bool = false,
        grant: CallerGrant? = nil
    ) {
        self.url = url
        self.status = status
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        self.selection = selection
        self.part = part
        self.completeLength = completeLength
        self.isInvalid = isInvalid
        self.grant = grant
    }

    package var freshness: Freshness {
        memo.freshness { Freshness(status, fields, requestedAt: requestedAt, receivedAt: receivedAt) }
    }

    /// The freshness was computed from the same fields and times.
    mutating func remember(_ freshness: Freshness) {
        memo = FreshnessMemo(freshness)
    }

    /// Takes the same fields without hop-by-hop fields. Drops cookies when a caller's ttl applies.
    package mutating func take(endToEnd fields: HTTPFields) {
        self.fields = fields
        dropGrantedCookies()
    }

    /// Drops `Set-Cookie` when a caller's ttl decides how long other clients get the response (RFC 9111 §7.3).
    mutating func dropGrantedCookies() {
        if grant != nil, fields.contains(.setCookie) { fields[fields: .setCookie] = [] }
    }

    /// In the past when the response was never fresh. `callerTTL`, of the request that brought or validated the answer,
    /// counts from the receipt, unless no ttl applies to the answer (see ``StoragePolicy``).
    package func expiryDate(callerTTL: Duration?) -> Timestamp {
        if grant != nil, let callerTTL { return receivedAt + callerTTL }
        return freshness.expiryDate
    }
}

/// Records that a caller's ttl decided about a stored response.
package struct CallerGrant: Hashable, Sendable {
    /// RFC 9111 alone would have forbidden storing: only requests with a ttl and the same Authorization may use it.
    package var isOnlyReason: Bool
    /// ``CacheRequest/authorization`` of the request that brought the response.
    package var authorization: String?

    package init(isOnlyReason: Bool, authorization: String?) {
        self.isOnlyReason = isOnlyReason
        self.authorization = authorization
    }
}
