import HTTPTypes
import Larder
import MicroHTTPD

/// The properties of a request that its answer depends on.
struct RequestContext: Sendable {
    /// The request. Its target lacks the ``NamespacePrefix``.
    let request: Request
    /// The prefix for paths in an answer, so that they stay in the namespace of the request's path: `/@ci`, or empty.
    let pathPrefix: String
    /// The name of the route in the metrics.
    let operation: String
    let visitor: AccessGate.Visitor
    let namespace: Namespace
    let metrics: RequestMetrics
    /// The value of `Vary`: the request fields that the answer depends on. A cache on the way must not give the answer
    /// to requests with other values. `nil` if the answer is the same for all requests, or is not cached.
    let vary: String?
    /// See ``Route/isFenced``.
    let isFenced: Bool
    let audit: AuditLog
    /// Called with the status before the answer goes out, and with the detail if the answer is a problem.
    let observer: @Sendable (Int, String?) -> Void

    /// Returns an answer with the fields of this request: the common fields, and the permission for a web page to read
    /// it.
    func readable(_ response: Response) -> Response {
        guard let origin = visitor.origin else { return readableByAll(response) }
        return CrossOrigin.allowing(origin, Self.adding(common, to: response))
    }

    /// Returns a function that completes an answer for clients that are no web pages. The function holds no part of the
    /// request.
    var readableByAll: @Sendable (Response) -> Response {
        let common = common + (visitor.mayBePages ? [HTTPField(name: .vary, value: "Origin")] : [])
        return { Self.adding(common, to: $0) }
    }

    /// The fields of every answer to this request.
    private var common: [HTTPField] {
        (isFenced ? ContentFence.fields : []) + (vary.map { [HTTPField(name: .vary, value: $0)] } ?? [])
    }

    private static func adding(_ common: [HTTPField], to response: Response) -> Response {
        guard !common.isEmpty else { return response }
        var fields = response.fields
        fields.append(contentsOf: common)
        return Response(status: response.status, fields: fields, body: response.body)
    }
}
