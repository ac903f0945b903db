import HTTPTypes

/// A client's request, as far as caching is concerned.
package struct CacheRequest: Hashable, Sendable {
    package var method: HTTPRequest.Method
    /// The absolute URL: the target URI of RFC 9110 §7.1.
    package var url: String
    /// The fields, without hop-by-hop fields.
    package var fields: HTTPFields
    /// The ttl that the caller gives to an answer, instead of the origin's freshness lifetime; `nil` leaves the
    /// lifetime to the origin.
    package var callerTTL: Duration?
    /// A text that stands for Authorization and tells callers apart, such as a digest; `nil` when the request has no
    /// Authorization. The text is only compared.
    package var authorization: String?

    /// Creates a request; by default without a ttl and without Authorization.
    package init(
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
