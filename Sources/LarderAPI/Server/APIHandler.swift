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
    private let passing: PassingAnswers?
    private let gate: AccessGate
    private let namespaces: NamespaceTable
    private let logger: Logger
    private let logsRequests: Bool

    /// - Parameters:
    ///   - ready: answers at hand; `nil` when nothing is asked for often enough.
    ///   - passing: makes others of what lies in the slab; `nil` when nothing is asked for.
    init(
        routes: [Route], metrics: RequestMetrics, ready: ReadyAnswers?, passing: PassingAnswers?, gate: AccessGate,
        namespaces: NamespaceTable, logger: Logger
    ) {
        var router = Router<Route>()
        for route in routes { router.add(route.method, route.pattern, route) }
        self.router = router
        self.metrics = metrics
        self.ready = ready
        self.passing = passing
        self.gate = gate
        self.namespaces = namespaces
        self.logger = logger
        logsRequests = logger.logLevel <= .debug
    }

    func expect(_ target: UnsafeRawBufferPointer) -> Int { ready?.expect(target) ?? 0 }

    func readyResponse(to head: borrowing RawHead) -> ReadyResponse {
        // A line for each request is made by ``receive(_:)``.
        logsRequests ? .none : ready?.answer(to: head, passing: passing) ?? .none
    }

    func receive(_ request: Request) -> Reception {
        let start = ContinuousClock.now
        if let defect = request.defect {
            let problem = Problem(status: defect.status, detail: defect.reason)
            observer(of: request, operation: "none", since: start)(problem.status, nil)
            return .refuse(.problem(problem))
        }
        let match = router.match(method: request.method, target: request.target)
        var visitor = AccessGate.Visitor(
            bearer: nil, origin: gate.origin(of: request), mayBePages: gate.allowsPages)
        if let origin = visitor.origin, let response = CrossOrigin.preflight(request, origin: origin) {
            observer(of: request, operation: "none", since: start)(response.status, nil)
            return .accept(.none) { $0.respond(response) }
        }
        var (operation, varies) = ("none", false)
        do throws(Problem) {
            guard case .found(let route, let rawParameters, _, _) = match else {
                if !isOpen(match, to: request) { _ = try gate.admit(request, scope: nil) }
                throw refusal(of: request, match)
            }
            operation = route.endpoint.operation
            varies = route.space == .named
            if let scope = route.scope {
                try AccessGate.checkTarget(of: request)
                visitor = try gate.admit(request, scope: scope)
                try visitor.check(scope)
            }
            let namespace = try namespace(of: request, route, visitor)
            let parameters = try Self.decode(rawParameters)
            let context = context(
                of: request, visitor, namespace,
                named: route.space == .inPath ? parameters.first { $0.name == "name" }?.value : nil,
                varies: varies, operation: operation, since: start)
            let head = Endpoint.Head(
                request: request, parameters: parameters, namespace: namespace, visitor: visitor)
            let plan = try route.endpoint.begin(head)
            return .accept(plan.body) { exchange in
                let call = Call(exchange: exchange, context: context)
                do throws(Problem) {
                    try plan.finish(call)
                } catch {
                    call.respond(error)
                }
            }
        } catch {
            let context = context(
                of: request, visitor, namespaces.default, varies: varies, operation: operation, since: start)
            return answer(error, to: request, context)
        }
    }

    /// Whether the path is there for everybody, with another method: then everybody may know.
    private func isOpen(_ match: Router<Route>.Match, to request: Request) -> Bool {
        guard case .methodNotAllowed(let allow) = match else { return false }
        return allow.allSatisfy { method in
            guard case .found(let route, _, _, _) = router.match(method: method, target: request.target) else {
                return false
            }
            return route.scope == nil
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

    /// - Parameters:
    ///   - name: of the namespace that the request is about, when it is not the one that it works in.
    ///   - varies: whether another namespace would have another answer.
    private func context(
        of request: Request, _ visitor: AccessGate.Visitor, _ namespace: Namespace, named name: String? = nil,
        varies: Bool = false, operation: String, since start: ContinuousClock.Instant
    ) -> RequestContext {
        RequestContext(
            operation: operation, visitor: visitor, namespace: namespace, metrics: metrics,
            vary: varies && (request.method == "GET" || request.isHead) ? gate.vary(of: request) : nil,
            audit: AuditLog(
                request, operation: operation, namespace: name ?? namespace.name, visitor: visitor, logger: logger),
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
                    metadata: ["operation": "\(operation)", "status": .number(status), "reason": "\(detail)"])
            }
            guard logsRequests else { return }
            // The query is left out: it may carry somebody's secret, and so may the rest where it is not as it should
            // be.
            let path = status == 400 || TokenSecret.isIn(request.path) ? "…" : request.path
            logger.debug(
                "request",
                metadata: [
                    "method": "\(request.method)", "path": "\(path)", "status": .number(status),
                    "operation": "\(operation)", "milliseconds": .number(duration.milliseconds),
                    "remote": "\(request.remoteAddress)",
                ])
        }
    }

    /// The namespace that a request means: what it names, else the token's own, else the default one.
    private func namespace(
        of request: Request, _ route: Route, _ visitor: AccessGate.Visitor
    ) throws(Problem) -> Namespace {
        switch route.space {
        case .inPath: return namespaces.default
        case .inQuery where Self.namesNamespace(request.query): return namespaces.default
        case .server:
            // What concerns all of them is the default one's.
            if route.scope != nil { try visitor.check(namespace: LarderService.defaultNamespace) }
            return namespaces.default
        case .named, .inQuery: break
        }
        let names = request.values(Self.namespaceField)
        guard names.count < 2 else {
            throw .invalid("\(Self.namespaceField) is there twice", pointer: "/\(Self.namespaceField)")
        }
        let name = names.first ?? visitor.bearer?.token.ownNamespace ?? LarderService.defaultNamespace
        try visitor.check(namespace: name)
        guard let namespace = namespaces.find(name) else { throw Problem(NamespaceError.unknown(name)) }
        return namespace
    }

    private static func namesNamespace(_ query: String?) -> Bool {
        query?.split(separator: "&").contains { $0.hasPrefix("namespace=") } ?? false
    }

    private static let namespaceField = HTTPField.Name("Larder-Namespace")!

    private static func decode(_ raw: PathParameters) throws(Problem) -> [(name: Substring, value: String)] {
        var parameters: [(name: Substring, value: String)] = []
        for (name, value) in zip(raw.names, raw.values) {
            guard let text = FormDecoding.decode(value.utf8, plusIsSpace: false) else {
                throw .invalid("the path has a broken percent-escape or is not UTF-8", pointer: "/" + name)
            }
            parameters.append((name, text))
        }
        return parameters
    }
}
