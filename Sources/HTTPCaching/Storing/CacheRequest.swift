import HTTPTypes

/// What a client asks, as far as caching goes.
public struct CacheRequest: Hashable, Sendable {
    /// The method.
    public var method: HTTPRequest.Method
    /// The absolute URL that is asked for, the target URI of RFC 9110 §7.1.
    public var url: String
    /// The fields, without those that end at this hop.
    public var fields: HTTPFields
    /// For how long the caller says that an answer stays fresh, whatever its origin says; `nil`: as the origin says.
    public var callerTTL: Duration?
    /// What is kept of Authorization to tell callers apart, such as a digest; `nil` when the request has none. It is
    /// compared and nothing else.
    public var authorization: String?

    /// A request; by default one that leaves everything to the origin, without Authorization.
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
