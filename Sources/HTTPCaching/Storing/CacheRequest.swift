import HTTPTypes

/// A client's request, as far as caching is concerned.
package struct CacheRequest: Hashable, Sendable {
    package var method: HTTPRequest.Method
    /// Absolute: the target URI of RFC 9110 §7.1.
    package var url: String
    /// Without hop-by-hop fields.
    package var fields: HTTPFields
    /// Replaces the origin's freshness lifetime; `nil` leaves the lifetime to the origin.
    package var callerTTL: Duration?
    /// Stands for Authorization and tells callers apart, such as a digest; `nil` without Authorization. Only compared.
    package var authorization: String?

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
