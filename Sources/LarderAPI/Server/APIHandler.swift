import HTTPTypes
import Larder
import Logging
import MicroHTTPD
import Primitives

/// Finds the endpoint of each request, and turns what it throws into an answer.
final class APIHandler: RequestHandler {
    private let router: Router<Route>
    private let metrics: RequestMetrics
    private let ready: ReadyAnswers?
    private let gate: AccessGate
    private let logger: Logger
    private let logsRequests: Bool

    /// - Parameter ready: answers at hand; `nil` when nothing is asked for often enough.
    init(routes: [Route], metrics: RequestMetrics, ready: ReadyAnswers?, gate: AccessGate, logger: Logger) {
        var router = Router<Route>()
        for route in routes { router.add(route.method, route.pattern, route) }
        self.router = router
        self.metrics = metrics
        self.ready = ready
        self.gate = gate
        self.logger = logger
        logsRequests = logger.logLevel <= .debug
    }

    func expect(_ target: UnsafeRawBufferPointer) -> Int { ready?.expect(target) ?? 0 }

    func readyResponse(to head: borrowing RawHead) -> Response? {
        // A line for each request is made by ``receive(_:)``.
        logsRequests ? nil : ready?.answer(to: head)
    }

    func receive(_ request: Request) -> Reception {
        let start = ContinuousClock.now
        if let defect = request.defect {
            let problem = Problem(status: defect.status, detail: defect.reason)
            observer(of: request, operation: "none", since: start)(problem.status, nil)
            return .refuse(.problem(problem))
        }
        let match = router.match(method: request.method, target: request.target)
        var visitor = AccessGate.Visitor(bearer: nil, origin: gate.origin(of: request))
        if let origin = visitor.origin, let response = CrossOrigin.preflight(request, origin: origin) {
            observer(of: request, operation: "none", since: start)(response.status, nil)
            return .accept(.none) { $0.respond(response) }
        }
        var operation = "none"
        do throws(Problem) {
            guard case .found(let route, let parameters, _, _) = match else {
                _ = try gate.admit(request, scope: nil)
                throw refusal(of: request, match)
            }
            operation = route.endpoint.operation
            // What concerns the whole server is the default namespace's.
            let namespace = route.isNamespaced ? Self.namespace(of: request) : LarderService.defaultNamespace
            if let scope = route.scope {
                visitor = try gate.admit(request, scope: scope)
                try gate.check(visitor, scope: scope, namespace: namespace)
            }
            if route.isNamespaced { try Self.checkNamespace(of: request) }
            let head = Endpoint.Head(request: request, parameters: try Self.decode(parameters))
            let plan = try route.endpoint.begin(head)
            let context = context(of: request, visitor, operation: operation, since: start)
            return .accept(plan.body) { exchange in
                let call = Call(exchange: exchange, context: context)
                do throws(Problem) {
                    try plan.finish(call)
                } catch {
                    call.respond(error)
                }
            }
        } catch {
            return answer(error, to: request, context(of: request, visitor, operation: operation, since: start))
        }
    }

    private func refusal(of request: Request, _ match: Router<Route>.Match) -> Problem {
        guard case .methodNotAllowed(let allow) = match else {
            return .notFound(hint(for: request) + "; /openapi.yaml lists what there is")
        }
        var detail = "\(request.path) has \(allow.joined(separator: ", "))"
        if request.method == "PUT", isKnown(request.path + "/content", method: "PUT") {
            detail += "; a body is stored with PUT \(request.path)/content"
        }
        return Problem(status: 405, detail: detail, fields: [.allow: allow.joined(separator: ", ")])
    }

    /// What to say of a path that leads nowhere.
    private func hint(for request: Request) -> String {
        let path = request.path
        if path == "/fetch/" { return "the URL is missing, as in /fetch/https://example.com/" }
        guard path.hasSuffix("/"), isKnown(path.dropLast(), method: request.method) else {
            return "there is nothing at this path"
        }
        return "there is nothing at \(path), but at \(path.dropLast())"
    }

    private func isKnown(_ path: some StringProtocol, method: String) -> Bool {
        if case .notFound = router.match(method: method, target: path) { return false }
        return true
    }

    /// Answers a request whose body nobody wants. One that is known to be large is not read: the answer comes before it
    /// and the connection ends; otherwise the connection is kept.
    private func answer(_ problem: Problem, to request: Request, _ context: RequestContext) -> Reception {
        let hasLargeBody = (request.declaredLength ?? 0) > 64 << 10 || request.field("Expect") != nil
        guard hasLargeBody || request.field("Transfer-Encoding") != nil else {
            return .accept(.none) { Call(exchange: $0, context: context).respond(problem) }
        }
        context.observer(problem.status, problem.detail)
        return .refuse(context.readable(.problem(problem)))
    }

    private func context(
        of request: Request, _ visitor: AccessGate.Visitor, operation: String, since start: ContinuousClock.Instant
    ) -> RequestContext {
        RequestContext(
            operation: operation, visitor: visitor, metrics: metrics,
            audit: AuditLog(request, operation: operation, visitor: visitor, logger: logger),
            observer: observer(of: request, operation: operation, since: start))
    }

    private func observer(
        of request: Request, operation: String, since start: ContinuousClock.Instant
    ) -> @Sendable (Int, String?) -> Void {
        let (metrics, logger, logsRequests) = (metrics, logger, logsRequests)
        return { status, detail in
            let duration = ContinuousClock.now - start
            metrics.record(operation: operation, status: status, duration: duration)
            if let detail, status == 500 || status == 507 {
                // The server's own trouble, not an origin's answer: an operator must see it without turning on a line
                // for each request.
                logger.error(
                    "request failed",
                    metadata: ["operation": "\(operation)", "status": "\(status)", "reason": "\(detail)"])
            }
            guard logsRequests else { return }
            // The query is left out: it may carry somebody's secret, and so may the rest where it is not as it should
            // be.
            let path = status == 400 || TokenSecret.isIn(request.path) ? "…" : request.path
            logger.debug(
                "request",
                metadata: [
                    "method": "\(request.method)", "path": "\(path)", "status": "\(status)",
                    "operation": "\(operation)", "milliseconds": "\(duration.milliseconds)",
                    "remote": "\(request.remoteAddress)",
                ])
        }
    }

    private static func namespace(of request: Request) -> String {
        request.field("Larder-Namespace") ?? LarderService.defaultNamespace
    }

    private static func checkNamespace(of request: Request) throws(Problem) {
        let name = namespace(of: request)
        guard name == LarderService.defaultNamespace else { throw .notFound("there is no namespace \"\(name)\"") }
    }

    private static func decode(_ raw: [Substring: Substring]) throws(Problem) -> [String: String] {
        var parameters: [String: String] = [:]
        for (name, value) in raw {
            guard let text = FormDecoding.decode(value.utf8, plusIsSpace: false) else {
                throw .invalid("the path has a broken percent-escape or is not UTF-8", pointer: "/" + name)
            }
            parameters[String(name)] = text
        }
        return parameters
    }
}
