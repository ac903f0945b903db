import HTTPTypes
import Primitives

/// What is kept of an answer beside its body.
public struct StoredResponse: Hashable, Sendable {
    /// The URL that it answers, as it was asked for.
    public var url: String
    /// The status code.
    public var status: Int { didSet { memo = FreshnessMemo() } }
    /// The fields, to be given back unchanged and in their order.
    public var fields: HTTPFields { didSet { memo = FreshnessMemo() } }
    /// When the request was sent that brought the answer, or its last validation.
    public var requestedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    /// When the answer, or its last validation, came.
    public var receivedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    /// What a request must have in common with the one that brought the answer (RFC 9111 §4.1).
    public var selection: SelectingFields
    /// Which bytes of the representation the body has; `nil`: all of them.
    public var part: Range<Int64>?
    /// The length of the whole representation; `nil` when the origin did not state it. Of a complete body it is the
    /// declared length, and who stores the body sets what was really received.
    public var completeLength: Int64?
    /// Whether it must be validated before it is used again, fresh or not: an unsafe request may have changed the
    /// resource (RFC 9111 §4.4), or a HEAD showed another (§4.3.5).
    public var isInvalid: Bool
    /// What a caller's ttl had to do with it; `nil`: nothing.
    public var grant: CallerGrant?
    /// Whether somebody has set by hand until when it is fresh. Then that counts for everyone, in place of what the
    /// origin said, until the origin says something again.
    public var isExpirySet = false
    /// Its ``Freshness``, which is asked for again and again while it is being answered.
    private(set) var memo = FreshnessMemo()

    /// A response with all that is kept of it; by default complete, valid and the origin's affair alone.
    public init(
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

    /// Remembers the ``Freshness`` that was worked out of the same fields and times already.
    mutating func remember(_ freshness: Freshness) {
        memo = FreshnessMemo(freshness)
    }

    /// Takes the fields without those that end at this hop; a caller's ttl keeps no cookies.
    ///
    /// - Parameter fields: of the same answer.
    public mutating func take(endToEnd fields: HTTPFields) {
        self.fields = fields
        dropGrantedCookies()
    }

    /// Leaves out `Set-Cookie` where a caller's ttl decides for how long others get the response (RFC 9111 §7.3).
    mutating func dropGrantedCookies() {
        if grant != nil, fields.contains(.setCookie) { fields[fields: .setCookie] = [] }
    }

    /// The instant at which it stops being fresh; in the past when it never was.
    ///
    /// - Parameter callerTTL: that of the request that brought the answer or validated it. It counts from the receipt,
    ///   unless the answer is one about which no ttl decides (see ``StoragePolicy``).
    public func expiryDate(callerTTL: Duration?) -> Timestamp {
        if grant != nil, let callerTTL { return receivedAt + callerTTL }
        return Freshness(of: self).expiryDate
    }
}

/// That a caller's ttl decided about a stored response.
public struct CallerGrant: Hashable, Sendable {
    /// Whether a cache that goes by RFC 9111 alone would not have kept it. Then it is used only for callers who give a
    /// ttl and the same Authorization.
    public var isOnlyReason: Bool
    /// The ``CacheRequest/authorization`` of the request that brought it.
    public var authorization: String?

    /// A grant.
    public init(isOnlyReason: Bool, authorization: String?) {
        self.isOnlyReason = isOnlyReason
        self.authorization = authorization
    }
}
