import HTTPTypes
import Larder
import MicroHTTPD

struct RequestContext: Sendable {
    /// Its target lacks the ``NamespacePrefix``.
    let request: Request
    /// See ``PrefixedRequest/pathPrefix``.
    let pathPrefix: String
    let operation: String
    let visitor: AccessGate.Visitor
    let namespace: Namespace
    let metrics: RequestMetrics
    /// The fields that choose the answer. `nil` if the answer is the same for all requests, or is not cached.
    let vary: String?
    let isFenced: Bool
    let audit: AuditLog
    /// Called with the status before the answer goes out, and with the detail if the answer is a problem.
    let observer: @Sendable (Int, String?) -> Void

    func readable(_ response: Response) -> Response {
        guard let origin = visitor.origin else { return readableByAll(response) }
        return CrossOrigin.allowing(origin, Self.adding(common, to: response))
    }

    /// Completes an answer for clients that are no web pages. The function holds no part of the request.
    var readableByAll: @Sendable (Response) -> Response {
        let common = common + (visitor.mayBePages ? [HTTPField(name: .vary, value: "Origin")] : [])
        return { Self.adding(common, to: $0) }
    }

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
