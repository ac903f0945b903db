import HTTPTypes
import Larder
import MicroHTTPD

/// What is known of a request beside its exchange.
struct RequestContext: Sendable {
    /// The request, with the target behind a ``NamespacePrefix``.
    let request: Request
    /// What a path in an answer begins with, to stay in the namespace that the request's path names: `/@ci`, or
    /// nothing.
    let pathPrefix: String
    /// The name of the route in the metrics.
    let operation: String
    let visitor: AccessGate.Visitor
    let namespace: Namespace
    let metrics: RequestMetrics
    /// The fields of the request that the answer depends on, for `Vary`: a cache on the way must not give one's answer
    /// to another. `nil` when the answer is the same for all, or to nothing that is cached.
    let vary: String?
    /// See ``Route/isFenced``.
    let isFenced: Bool
    let audit: AuditLog
    /// Told of the status before the answer goes out, and of what is to be said about it when it is a problem.
    let observer: @Sendable (Int, String?) -> Void

    /// An answer as the page that asked may read it.
    func readable(_ response: Response) -> Response {
        guard let origin = visitor.origin else { return readableByAll(response) }
        return CrossOrigin.allowing(origin, Self.adding(common, to: response))
    }

    /// Makes of an answer what is for everybody who is no page. Holds nothing of the request.
    var readableByAll: @Sendable (Response) -> Response {
        let common = common + (visitor.mayBePages ? [HTTPField(name: .vary, value: "Origin")] : [])
        return { Self.adding(common, to: $0) }
    }

    /// The fields that every answer to the request has.
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
