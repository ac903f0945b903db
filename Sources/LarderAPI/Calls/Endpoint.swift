import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The action of one method on one path.
struct Endpoint: Sendable {
    /// The `operationId` of openapi.yaml; also the name of the route in the metrics.
    let operation: String
    let begin: @Sendable (Head) throws(Problem) -> Plan

    struct Head: Sendable {
        let request: Request
        /// The path's parameters, percent-decoded.
        let parameters: [(name: Substring, value: String)]
        let namespace: Namespace
        let visitor: AccessGate.Visitor

        var entries: EntryService { namespace.entries }
        /// Empty if there is none.
        func parameter(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }

        func query(_ known: Set<String> = []) throws(Problem) -> Query {
            try Query(request.query, known: known)
        }
    }

    /// The policy for the body, and the function that answers after it.
    struct Plan: Sendable {
        let body: BodyPolicy
        let finish: @Sendable (Call) throws(Problem) -> Void
    }

    /// Runs before the body is read. A thrown problem becomes the answer.
    typealias Check = @Sendable (Head) throws(Problem) -> Void

    /// Has no body, and answers at once.
    static func answering(
        _ operation: String, _ answer: @escaping @Sendable (Head) throws(Problem) -> Response
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            Plan(body: .none) { (call) throws(Problem) in call.respond(try answer(head)) }
        }
    }

    /// Has no body, and may answer later.
    static func calling(
        _ operation: String, checking check: @escaping Check = { _ in },
        _ run: @escaping @Sendable (Head, Call) throws(Problem) -> Void
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            try check(head)
            return Plan(body: .none) { (call) throws(Problem) in try run(head, call) }
        }
    }

    /// Collects the body in memory, up to `limit` bytes, and may answer later.
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

    /// Counts further answers of this operation with the same status.
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

    /// See ``AuditLog/note(_:count:)``.
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
