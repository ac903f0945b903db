import DiskCache
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// What one method does on one path.
struct Endpoint: Sendable {
    /// The `operationId` of openapi.yaml; also the route's name in the metrics.
    let operation: String
    /// Called when the head of a request is there: says what to do with the body, and how to go on after it.
    let begin: @Sendable (Head) throws(Problem) -> Plan

    /// What is known of a request before its body.
    struct Head: Sendable {
        let request: Request
        /// The path's parameters, percent-decoded, with their names.
        let parameters: [(name: Substring, value: String)]
        /// The one that is meant.
        let namespace: Namespace
        let visitor: AccessGate.Visitor

        /// The cache that is meant.
        var cache: DiskCache { namespace.cache }

        /// The value of the parameter `:name` of the path.
        func parameter(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }

        func query(_ known: Set<String> = []) throws(Problem) -> Query {
            try Query(request.query, known: known)
        }
    }

    /// What becomes of the body, and of the request once the body is there.
    struct Plan: Sendable {
        let body: BodyPolicy
        let finish: @Sendable (Call) throws(Problem) -> Void
    }

    /// Looks at the head of a request before its body is asked for.
    typealias Check = @Sendable (Head) throws(Problem) -> Void

    /// A call that has no body and is answered on the spot.
    static func answering(
        _ operation: String, _ answer: @escaping @Sendable (Head) throws(Problem) -> Response
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            Plan(body: .none) { (call) throws(Problem) in call.respond(try answer(head)) }
        }
    }

    /// A call that has no body and may answer later.
    ///
    /// - Parameter check: looks at the head first: what it throws is the answer, and no body is asked for. Checks
    ///   nothing unless given.
    static func calling(
        _ operation: String, checking check: @escaping Check = { _ in },
        _ run: @escaping @Sendable (Head, Call) throws(Problem) -> Void
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            try check(head)
            return Plan(body: .none) { (call) throws(Problem) in try run(head, call) }
        }
    }

    /// A call with a body that is collected in memory, up to `limit` bytes, and may answer later.
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

/// A request whose body is there, waiting for its answer.
struct Call: Sendable {
    let exchange: Exchange
    let context: RequestContext

    /// What counts more answers like this one.
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

    /// Says for the record what has been changed; see ``AuditLog/note(_:count:)``.
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
            throw Problem(status: 503, detail: "too many large requests are under way; ask again later")
        case .sunk: return []
        case .failed(let error): throw .invalid("the body could not be read: \(error)")
        }
    }
}
