import MicroHTTPD

/// What is known of a request beside its head and its exchange.
struct RequestContext: Sendable {
    /// The name of the route in the metrics.
    let operation: String
    let visitor: AccessGate.Visitor
    let metrics: RequestMetrics
    let audit: AuditLog
    /// Told of the status before the answer goes out, and of what is to be said about it when it is a problem.
    let observer: @Sendable (Int, String?) -> Void

    /// An answer as the page that asked may read it.
    func readable(_ response: Response) -> Response {
        visitor.origin.map { CrossOrigin.allowing($0, response) } ?? response
    }
}
