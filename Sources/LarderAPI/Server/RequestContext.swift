import Larder
import MicroHTTPD

/// What is known of a request beside its head and its exchange.
struct RequestContext: Sendable {
    /// The name of the route in the metrics.
    let operation: String
    let visitor: AccessGate.Visitor
    let namespace: Namespace
    let metrics: RequestMetrics
    /// The fields that choose the namespace, for `Vary`: a cache on the way must not give one's answer to another.
    /// `nil` when the answer is the same in all, or to nothing that is cached.
    let vary: String?
    let audit: AuditLog
    /// Told of the status before the answer goes out, and of what is to be said about it when it is a problem.
    let observer: @Sendable (Int, String?) -> Void

    /// An answer as the page that asked may read it.
    func readable(_ response: Response) -> Response {
        guard let origin = visitor.origin else { return readableByAll(response) }
        return CrossOrigin.allowing(origin, varying(response))
    }

    /// Makes of an answer what is for everybody who is no page. Holds nothing of the request.
    var readableByAll: @Sendable (Response) -> Response {
        let names = ([vary, visitor.mayBePages ? "Origin" : nil] as [String?]).compactMap { $0 }
        return { names.reduce($0) { CrossOrigin.varying($0, by: $1) } }
    }

    private func varying(_ response: Response) -> Response {
        vary.map { CrossOrigin.varying(response, by: $0) } ?? response
    }
}
