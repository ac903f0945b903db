import HTTPCaching
import HTTPTypes
import Primitives

/// A client's request to an origin through `/fetch`.
package struct GatewayRequest: Sendable {
    /// The method, any token.
    package var method: HTTPRequest.Method
    /// The requested URL.
    package var url: ExactURL
    /// The client's fields, without the fields that end at this hop and without Larder's own fields.
    package var fields: HTTPFields
    /// The time for which an answer stays fresh by the caller's word, regardless of the origin; `nil`: as the origin
    /// states.
    package var ttl: Duration?
    /// Whether a hit slides the expiry, for a caller that gives a ttl. Default: no.
    package var updatesExpiry = false
    /// Tags for the stored entry.
    package var tags: Set<String> = []
    /// The HTTP version of the client, for Via: `1.0` or `1.1`.
    package var version = "1.1"
    /// The request's body, which is on its way; `nil` without a body.
    package var upload: GatewayUpload?

    /// Creates a request with only a method, a URL and fields.
    package init(method: HTTPRequest.Method, url: ExactURL, fields: HTTPFields) {
        self.method = method
        self.url = url
        self.fields = fields
    }
}

extension GatewayRequest {
    /// Whether the answer may come from the cache: true for GET and HEAD without a body.
    var isCacheable: Bool { (method == .get || method == .head) && upload == nil }
}
