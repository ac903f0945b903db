import HTTPTypes

/// A client's request, as far as caching is concerned.
public struct CacheRequest: Hashable, Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The absolute URL: the target URI of RFC 9110 §7.1.
    public var url: String
    /// The fields, without hop-by-hop fields.
    public var fields: HTTPFields
    /// The ttl that the caller gives to an answer, instead of the origin's freshness lifetime; `nil` leaves the
    /// lifetime to the origin.
    public var callerTTL: Duration?
    /// A text that stands for Authorization and tells callers apart, such as a digest; `nil` when the request has no
    /// Authorization. The text is only compared.
    public var authorization: String?

    /// Creates a request; by default without a ttl and without Authorization.
    public init(
        method: HTTPRequest.Method, url: String, fields: HTTPFields, callerTTL: Duration? = nil,
        authorization: String? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.callerTTL = callerTTL
        self.authorization = authorization
    }
}
