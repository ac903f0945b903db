import HTTPTypes
import MicroHTTPD

/// Adds the fields that the Fetch standard requires (https://fetch.spec.whatwg.org/#http-cors-protocol) to answers for
/// web pages of permitted origins.
enum CrossOrigin {
    /// By a preflight, a browser asks whether a page may send a request. `nil` if the request is no preflight.
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

    static func allowing(_ origin: String, _ response: Response) -> Response {
        var fields = response.fields
        fields[.accessControlAllowOrigin] = origin
        fields[.accessControlExposeHeaders] = "*"
        // The answer names a single origin, so it is not valid for other origins.
        fields.append(HTTPField(name: .vary, value: "Origin"))
        return Response(status: response.status, fields: fields, body: response.body)
    }
}
