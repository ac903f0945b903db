import HTTPCaching
import HTTPTypes
import Primitives

/// What a client asks of an origin through `/fetch`.
public struct GatewayRequest: Sendable {
    /// The method, any token.
    public var method: HTTPRequest.Method
    /// What is asked for.
    public var url: ExactURL
    /// The client's fields, without those that end at this hop and without Larder's own.
    public var fields: HTTPFields
    /// For how long the caller says that an answer stays fresh, whatever the origin says; `nil`: as the origin says.
    public var ttl: Duration?
    /// Whether a hit slides the expiry, for a caller who gives a ttl.
    public var updatesExpiry = false
    /// Tags for what is stored.
    public var tags: Set<String> = []
    /// The version of HTTP that the client speaks, for Via: `1.0`, `1.1`.
    public var version = "1.1"
    /// The body on its way; `nil` without one.
    public var upload: GatewayUpload?

    /// A request with nothing but a method, a URL and fields.
    public init(method: HTTPRequest.Method, url: ExactURL, fields: HTTPFields) {
        self.method = method
        self.url = url
        self.fields = fields
    }
}

extension GatewayRequest {
    /// Whether the answer may come from the cache: GET and HEAD without a body.
    var isCacheable: Bool { (method == .get || method == .head) && upload == nil }
}
