import HTTPTypes
import Larder
import Logging
import MicroHTTPD
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
        context.observer(problem.status, problem.detail)
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

    /// Answers at the call's turn in the namespace's queue of listings, unless the client has left before. Meant for
    /// answers that may look at many entries. Throws 503 if the queue is full.
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

    /// Completes an answer for clients that are no web pages. The function holds no part of the request.
    var readableByAll: @Sendable (Response) -> Response {
        let common = common + (visitor.mayBePages ? [HTTPField(name: .vary, value: "Origin")] : [])
        return { $0.adding(common) }
    }

    private var common: [HTTPField] {
        (isFenced ? ContentFence.fields : []) + (vary.map { [HTTPField(name: .vary, value: $0)] } ?? [])
    }
}
