import HTTPTypes
import Larder
import Logging
import MicroHTTPD
import Primitives
import Synchronization

/// A request with a complete body, waiting for its answer.
struct Call: Sendable {
    let exchange: Exchange
    let context: RequestContext

    /// Returns the counter for further answers of this operation with this status.
    func meter(status: Int) -> Counter? {
        context.metrics.meter(operation: context.operation, status: status)
    }

    func respond(_ response: Response) {
        context.observer(response.status, nil)
        exchange.respond(context.readable(response))
    }

    func respond(_ problem: Problem) {
        context.observer(problem.status, problem.failure)
        exchange.respond(context.readable(.problem(problem)))
    }

    func changed(_ what: String, count: Int = 1) { context.noteChange(what, count: count) }

    func respond(_ result: Result<Response, Problem>) {
        take(result, \.self) { respond($0) }
    }

    /// Passes the value of a success to `answer`; answers with the problem of a failure.
    func take<Value, Failure>(
        _ result: Result<Value, Failure>, _ problem: (Failure) -> Problem, _ answer: (Value) -> Void
    ) {
        switch result {
        case .success(let value): answer(value)
        case .failure(let error): respond(problem(error))
        }
    }

    func collectedBody(limit: Int) throws(Problem) -> [UInt8] {
        switch exchange.body {
        case .none, .sunk: return []
        case .memory(let bytes): return bytes
        case .tooLarge: throw .tooLarge(limit: limit)
        case .noMemory: throw Problem(503, "too many large requests are in progress; retry later")
        case .failed(let error): throw .invalid("the body could not be read: \(error)")
        }
    }

    /// Puts the call into the namespace's queue of listings. When its turn comes, answers it, unless the client has
    /// disconnected. Meant for answers that may read many entries. Throws 503 if the queue is full.
    func respondInTurn(_ answer: @escaping @Sendable () throws(Problem) -> Response) throws(Problem) {
        let hasLeft = Flag()
        exchange.onHangUp { hasLeft.set() }
        let isInLine = context.namespace.listings.enter {
            if !hasLeft.isSet { respond(Result(catching: answer)) }
        }
        if !isInLine {
            throw Problem(503, "\(ListingLine.limit) listings are waiting, which is the limit; retry later")
        }
    }
}

final class Flag: Sendable {
    private let value = Atomic(false)

    func set() { value.store(true, ordering: .relaxed) }
    var isSet: Bool { value.load(ordering: .relaxed) }
}

struct RequestContext: Sendable {
    /// The request, without the ``NamespacePrefix`` in its target.
    let request: Request
    let pathPrefix: String
    let operation: String
    let visitor: AccessGate.Visitor
    let namespace: Namespace
    let metrics: RequestMetrics
    /// The value of `Vary`; `nil` if the answer is the same for all requests, or is not cached.
    let vary: String?
    let isFenced: Bool
    let logger: Logger
    /// The namespace that the request changes, for the audit line; `nil`: ``namespace``.
    let changedNamespace: String?
    /// Called with the status before the answer goes out, and with the detail if the answer is a problem.
    let observer: @Sendable (Int, String?) -> Void

    /// Logs a change of `count` items. `what` is the key or the selection of the changed items, without secrets: a URL
    /// comes without its query. A text that contains a token is logged as `…`.
    func noteChange(_ what: String, count: Int) {
        logger.notice(
            "change",
            metadata: [
                "operation": "\(operation)", "token": "\(visitor.bearer?.token.name ?? "-")",
                "remote": "\(request.remoteAddress)", "namespace": "\(changedNamespace ?? namespace.name)",
                "what": "\(TokenCredentials.areIn(what) ? "…" : what)", "count": .number(count),
            ])
    }

    func readable(_ response: Response) -> Response {
        guard let origin = visitor.origin else { return readableByAll(response) }
        return CrossOrigin.allowing(origin, response.adding(common))
    }

    /// Adds the fields for clients that are no web pages. The returned function holds no part of the request.
    var readableByAll: @Sendable (Response) -> Response {
        let common = common + (visitor.mayBePages ? [HTTPField(name: .vary, value: "Origin")] : [])
        return { $0.adding(common) }
    }

    private var common: [HTTPField] {
        (isFenced ? ContentFence.fields : []) + (vary.map { [HTTPField(name: .vary, value: $0)] } ?? [])
    }
}

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

extension Response {
    /// Forbids caches to store an answer (RFC 9111 §5.2.2.5), because the API's own answers are valid at this moment
    /// only. Bodies of entries and files of the server have other rules (``ContentResponse``, ``PublicFile``).
    static let notStored = HTTPField(name: .cacheControl, value: "no-store")

    /// The text ends with a line feed, for readers on a terminal.
    static func json(_ json: JSON, status: Int = 200, fields: HTTPFields = [:]) -> Response {
        .json(json.utf8, status: status, fields: fields)
    }

    static func json(_ object: consuming JSONObjectWriter) -> Response {
        .json(object.finish(), status: 200, fields: [:])
    }

    private static func json(
        _ utf8: consuming [UInt8], status: Int, fields: HTTPFields, type: String = "application/json"
    ) -> Response {
        utf8.append(UInt8(ascii: "\n"))
        var fields = fields
        fields[.contentType] = type
        fields.append(notStored)
        return Response(status: status, fields: fields, body: .bytes(SharedBytes(utf8)))
    }

    /// RFC 9457 §3. A 503 without `Retry-After` gets one of 1 s.
    static func problem(_ problem: Problem) -> Response {
        var fields = problem.fields
        if problem.status == 503, fields[.retryAfter] == nil { fields[.retryAfter] = "1" }
        return .json(problem.json.utf8, status: problem.status, fields: fields, type: "application/problem+json")
    }

    static func text(_ bytes: [UInt8], type: String) -> Response {
        Response(fields: [.contentType: type, .cacheControl: notStored.value], body: .bytes(SharedBytes(bytes)))
    }
}

extension HTTPFields {
    /// The approximate number of bytes that the fields have on the wire.
    var headLength: Int {
        reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }
}
