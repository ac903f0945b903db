import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The action of one method on one path.
struct Endpoint: Sendable {
    /// The `operationId` of openapi.yaml; also the name of the route in the metrics.
    let operation: String
    /// Called when the head of a request is complete. Returns the policy for the body, and the function that answers
    /// after it.
    let begin: @Sendable (Head) throws(Problem) -> Plan

    /// A request before its body is read.
    struct Head: Sendable {
        let request: Request
        /// The names and percent-decoded values of the path's parameters.
        let parameters: [(name: Substring, value: String)]
        /// The namespace in which the request works.
        let namespace: Namespace
        let visitor: AccessGate.Visitor

        /// The entries of the namespace.
        var entries: EntryService { namespace.entries }

        /// Returns the value of the path parameter `:name`; empty if there is none.
        func parameter(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }

        func query(_ known: Set<String> = []) throws(Problem) -> Query {
            try Query(request.query, known: known)
        }
    }

    /// The policy for the body, and the function to call after the body.
    struct Plan: Sendable {
        let body: BodyPolicy
        let finish: @Sendable (Call) throws(Problem) -> Void
    }

    /// Checks the head of a request before its body is read. A thrown problem becomes the answer.
    typealias Check = @Sendable (Head) throws(Problem) -> Void

    /// Creates an endpoint without a body that answers at once.
    static func answering(
        _ operation: String, _ answer: @escaping @Sendable (Head) throws(Problem) -> Response
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            Plan(body: .none) { (call) throws(Problem) in call.respond(try answer(head)) }
        }
    }

    /// Creates an endpoint without a body that may answer later.
    ///
    /// - Parameter check: called with the head first. A problem that it throws becomes the answer, and no body is read.
    ///   Default: no check.
    static func calling(
        _ operation: String, checking check: @escaping Check = { _ in },
        _ run: @escaping @Sendable (Head, Call) throws(Problem) -> Void
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            try check(head)
            return Plan(body: .none) { (call) throws(Problem) in try run(head, call) }
        }
    }

    /// Creates an endpoint that collects its body in memory, up to `limit` bytes, and may answer later.
    ///
    /// - Parameter check: see ``calling(_:checking:_:)``.
    static func collecting(
        _ operation: String, limit: Int, checking check: @escaping Check = { _ in },
        _ run: @escaping @Sendable (Head, [UInt8], Call) throws(Problem) -> Void
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            if let length = head.request.declaredLength, length > limit { throw .tooLarge(limit: limit) }
            try check(head)
            return Plan(body: .memory(limit: limit)) { (call) throws(Problem) in
                try run(head, try call.collectedBody(limit: limit), call)
            }
        }
    }
}

/// A request with a complete body, waiting for its answer.
struct Call: Sendable {
    let exchange: Exchange
    let context: RequestContext

    /// Returns the meter for further answers of this operation with the same status.
    func meter(status: Int) -> RequestMetrics.Meter? {
        context.metrics.meter(operation: context.operation, status: status)
    }

    func respond(_ response: Response) {
        context.observer(response.status, nil)
        exchange.respond(context.readable(response))
    }

    func respond(_ problem: Problem) {
        context.observer(problem.status, problem.detail)
        exchange.respond(context.readable(.problem(problem)))
    }

    /// Records a change in the audit log; see ``AuditLog/note(_:count:)``.
    func changed(_ what: String, count: Int = 1) { context.audit.note(what, count: count) }

    func respond(_ result: Result<Response, Problem>) {
        switch result {
        case .success(let response): respond(response)
        case .failure(let problem): respond(problem)
        }
    }

    func collectedBody(limit: Int) throws(Problem) -> [UInt8] {
        switch exchange.body {
        case .none: return []
        case .memory(let bytes): return bytes
        case .tooLarge: throw .tooLarge(limit: limit)
        case .noMemory:
            throw Problem(status: 503, detail: "too many large requests are in progress; retry later")
        case .sunk: return []
        case .failed(let error): throw .invalid("the body could not be read: \(error)")
        }
    }
}
