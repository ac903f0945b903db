import HTTPTypes
import Primitives

/// The stored metadata of an answer: everything except the body.
package struct StoredResponse: Hashable, Sendable {
    /// The URL as requested.
    package var url: String
    package var status: Int { didSet { memo = FreshnessMemo() } }
    /// The fields, which are served unchanged and in their order.
    package var fields: HTTPFields { didSet { memo = FreshnessMemo() } }
    /// The time at which the request for the answer, or for its last validation, was sent.
    package var requestedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    /// The time at which the answer, or its last validation, arrived.
    package var receivedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    /// The request fields that a request must share with the request that brought the answer (RFC 9111 §4.1).
    package var selection: SelectingFields
    /// The bytes of the representation that the body contains; `nil`: all bytes.
    package var part: Range<Int64>?
    /// The length of the whole representation; `nil` when the origin did not state it. For a complete body this is
    /// first the declared length. The code that stores the body replaces it with the received length.
    package var completeLength: Int64?
    /// Whether the response must be validated before reuse, fresh or not, because an unsafe request may have changed
    /// the resource (RFC 9111 §4.4), or because the answer to a HEAD request differed (§4.3.5).
    package var isInvalid: Bool
    /// The role of a caller's ttl in storing this response; `nil` when no ttl was involved.
    package var grant: CallerGrant?
    /// Whether a caller has changed the expiry of the stored entry. The new expiry applies to all callers instead of
    /// the origin's lifetime, until the next answer or validation from the origin.
    package var isExpirySet = false
    /// Caches ``freshness``, because serving a request asks for it several times.
    private var memo = FreshnessMemo()

    /// Creates a response; by default complete, valid and stored without a caller's ttl.
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

    /// Caches the ``Freshness`` that was computed from the same fields and times.
    mutating func remember(_ freshness: Freshness) {
        memo = FreshnessMemo(freshness)
    }

    /// Replaces the fields with the same fields without hop-by-hop fields. Drops cookies when a caller's ttl applies.
    ///
    /// - Parameter fields: the end-to-end fields of the same answer.
    package mutating func take(endToEnd fields: HTTPFields) {
        self.fields = fields
        dropGrantedCookies()
    }

    /// Drops `Set-Cookie` when a caller's ttl decides how long other clients get the response (RFC 9111 §7.3).
    mutating func dropGrantedCookies() {
        if grant != nil, fields.contains(.setCookie) { fields[fields: .setCookie] = [] }
    }

    /// Returns the instant at which the response becomes stale. The instant is in the past when the response was never
    /// fresh.
    ///
    /// - Parameter callerTTL: the ttl of the request that brought or validated the answer. It counts from the receipt,
    ///   unless no ttl applies to the answer (see ``StoragePolicy``).
    package func expiryDate(callerTTL: Duration?) -> Timestamp {
        if grant != nil, let callerTTL { return receivedAt + callerTTL }
        return freshness.expiryDate
    }
}

/// Records that a caller's ttl decided about a stored response.
package struct CallerGrant: Hashable, Sendable {
    /// Whether RFC 9111 alone would have forbidden storing the response. Only requests with a ttl and the same
    /// Authorization may then use it.
    package var isOnlyReason: Bool
    /// The ``CacheRequest/authorization`` of the request that brought the response.
    package var authorization: String?

    package init(isOnlyReason: Bool, authorization: String?) {
        self.isOnlyReason = isOnlyReason
        self.authorization = authorization
    }
}
