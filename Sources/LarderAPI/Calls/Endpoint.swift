import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

struct Route: Sendable {
    let method: String
    let pattern: String
    let endpoint: Endpoint
    /// `nil` if no token is needed.
    let scope: Scope?
    let source: NamespaceSource
    /// Whether answers may carry content of another origin, which browsers must isolate (``ContentFence``).
    let isFenced: Bool

    init(
        _ method: String, _ pattern: String, _ scope: Scope?, _ endpoint: Endpoint, in source: NamespaceSource = .named,
        isFenced: Bool = false
    ) {
        self.method = method
        self.pattern = pattern
        self.scope = scope
        self.endpoint = endpoint
        self.source = source
        self.isFenced = isFenced
    }
}

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
        /// Empty if the path has no such parameter.
        func parameter(_ name: String) -> String { parameters.first { $0.name == name }?.value ?? "" }

        func query(_ known: Set<String> = []) throws(Problem) -> Query {
            try Query(request.query, known: known)
        }

        func condition(at now: Timestamp) -> WriteCondition? {
            guard let method = HTTPRequest.Method(rawValue: request.method) else { return nil }
            return WriteCondition(request.fields(named: WriteCondition.fieldNames), method: method, at: now)
        }

        /// See ``WriteCondition/allows(untagged:)``. Throws 412.
        func checkCondition(at now: Timestamp, untagged exists: Bool) throws(Problem) {
            if condition(at: now)?.allows(untagged: exists) == false { throw .preconditionFailed }
        }
    }

    struct Plan: Sendable {
        let body: BodyPolicy
        let finish: @Sendable (Call) throws(Problem) -> Void
    }

    /// Runs before the body is read. A thrown problem becomes the answer.
    typealias Check = @Sendable (Head) throws(Problem) -> Void

    /// An endpoint for requests without a body. The result of `answer` is the answer.
    static func answering(
        _ operation: String, _ answer: @escaping @Sendable (Head) throws(Problem) -> Response
    ) -> Endpoint {
        calling(operation) { (head, call) throws(Problem) in call.respond(try answer(head)) }
    }

    /// An endpoint for requests without a body. It may answer after `run` has returned.
    static func calling(
        _ operation: String, checking check: @escaping Check = { _ in },
        _ run: @escaping @Sendable (Head, Call) throws(Problem) -> Void
    ) -> Endpoint {
        Endpoint(operation: operation) { (head) throws(Problem) in
            try check(head)
            return Plan(body: .none) { (call) throws(Problem) in try run(head, call) }
        }
    }

    /// An endpoint that collects the body in memory, up to `limit` bytes. It may answer after `run` has returned.
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
