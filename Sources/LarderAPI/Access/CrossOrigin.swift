import HTTPTypes
import MicroHTTPD

/// What the Fetch standard (https://fetch.spec.whatwg.org/#http-cors-protocol) wants of answers to pages of origins
/// that may ask.
enum CrossOrigin {
    /// The answer to a preflight, by which a browser asks whether a page may ask; `nil` when the request is none.
    ///
    /// - Parameter origin: that of the page, which may ask.
    static func preflight(_ request: Request, origin: String) -> Response? {
        guard request.method == "OPTIONS", let method = request.field("Access-Control-Request-Method") else {
            return nil
        }
        var fields = HTTPFields()
        fields[.accessControlAllowMethods] = method
        if let names = request.field("Access-Control-Request-Headers") { fields[.accessControlAllowHeaders] = names }
        fields[.accessControlMaxAge] = "600"
        return allowing(origin, Response(status: 204, fields: fields))
    }

    /// The same answer, to be read by a page.
    static func allowing(_ origin: String, _ response: Response) -> Response {
        var fields = response.fields
        fields[.accessControlAllowOrigin] = origin
        fields[.accessControlExposeHeaders] = "*"
        // Only `*` itself is the same for all.
        return varying(Response(status: response.status, fields: fields, body: response.body))
    }

    /// The same answer, for a cache on the way to know that others would get another: by default, a page.
    ///
    /// - Parameter names: the fields that make the difference.
    static func varying(_ response: Response, by names: String = "Origin") -> Response {
        var fields = response.fields
        fields.append(HTTPField(name: .vary, value: names))
        return Response(status: response.status, fields: fields, body: response.body)
    }
}
