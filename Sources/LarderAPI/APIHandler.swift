import HTTPTypes
import Larder
import Logging
import MicroHTTPD
import Primitives

/// Finds the endpoint of each request, and turns thrown problems into answers.
final class APIHandler: RequestHandler {
    private let router: Router<Route>
    private let metrics: RequestMetrics
    private let ready: ReadyAnswers?
    private let passing: PassingAnswers?
    private let gate: AccessGate
    private let namespaces: NamespaceTable
    private let logger: Logger
    private let logsRequests: Bool

    /// `ready` and `passing` are `nil` for the admin port, which gets few requests and serves no entries.
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
        // A ready answer would skip ``receive(_:)``, which logs each request.
        logsRequests ? .none : ready?.answer(to: head, passing: passing) ?? .none
    }

    func receive(_ sent: Request) -> Reception {
        let start = ContinuousClock.now
        if let defect = sent.defect {
            let problem = Problem(defect.status, defect.reason)
            observer(of: sent, operation: "none", since: start)(problem.status, nil)
            return .refuse(.problem(problem))
        }
        let observed = { [self] operation in observer(of: sent, operation: operation, since: start) }
        let asked = PrefixedRequest(sent)
        let request = asked.request
        let match = router.match(method: request.method, target: request.target)
        var visitor = AccessGate.Visitor(bearer: nil, origin: gate.origin(of: request), mayBePages: gate.allowsPages)
        if let origin = visitor.origin, let response = CrossOrigin.preflight(request, origin: origin) {
            observed("none")(response.status, nil)
            return .accept(.none) { $0.respond(response) }
        }
        var found: Route?
        do throws(Problem) {
            try AccessGate.checkTarget(of: sent)
            guard case .found(let route, let rawParameters, _, _) = match else {
                if !isOpen(match, to: request) { _ = try gate.admit(request, scope: nil) }
                throw refusal(of: asked, match)
            }
            found = route
            // The answers of a replay let every page of the replay read them, and no other page.
            if route.source == .ticket { visitor = AccessGate.Visitor(bearer: nil, origin: nil, mayBePages: false) }
            if let scope = route.scope {
                visitor = try gate.admit(request, scope: scope)
                try visitor.check(scope)
            }
            if route.isFenced { try ContentFence.check(request) }
            let namespace = try namespace(of: asked, route, visitor)
            let parameters = try Self.decode(rawParameters)
            let context = context(
                of: asked, visitor, namespace,
                named: route.source == .inPath ? parameters.first { $0.name == "name" }?.value : nil,
                route, observer: observed(route.endpoint.operation))
            let head = Endpoint.Head(request: request, parameters: parameters, namespace: namespace, visitor: visitor)
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
                of: asked, visitor, namespaces.default, found, observer: observed(found?.endpoint.operation ?? "none"))
            return answer(error, to: request, context)
        }
    }

    /// Whether the path exists with other methods only, none of which needs a token. Such a path is no secret.
    private func isOpen(_ match: Router<Route>.Match, to request: Request) -> Bool {
        guard case .methodNotAllowed(let allow) = match else { return false }
        return allow.allSatisfy { method in
            guard case .found(let route, _, _, _) = router.match(method: method, target: request.target) else {
                return false
            }
            return route.scope == nil
        }
    }

    private func refusal(of asked: PrefixedRequest, _ match: Router<Route>.Match) -> Problem {
        guard case .methodNotAllowed(let allow) = match else {
            return .notFound(hint(for: asked) + "; /openapi.yaml lists all paths")
        }
        let request = asked.request
        let path = asked.pathPrefix + request.path
        var detail = "\(path) accepts \(allow.joined(separator: ", "))"
        if request.method == "PUT", request.path.hasPrefix("/entries/") {
            detail += "; a body is stored with PUT \(path)/content"
        }
        return Problem(405, detail, fields: [.allow: allow.joined(separator: ", ")])
    }

    private func hint(for asked: PrefixedRequest) -> String {
        let (path, prefix) = (asked.request.path, asked.pathPrefix)
        if path == "/fetch/" { return "the URL is missing, as in \(prefix)/fetch/https://example.com/" }
        guard path.hasSuffix("/"), isKnown(path.dropLast(), method: asked.request.method) else {
            return "no resource at this path"
        }
        return "no resource at \(prefix)\(path); use \(prefix)\(path.dropLast())"
    }

    private func isKnown(_ path: some StringProtocol, method: String) -> Bool {
        if case .notFound = router.match(method: method, target: path) { return false }
        return true
    }

    /// If the body is longer than 64 KiB, of unknown length, or sent only after a go-ahead, answers before the body and
    /// closes the connection. Any other body is discarded, and the connection is kept.
    private func answer(_ problem: Problem, to request: Request, _ context: RequestContext) -> Reception {
        let hasLargeBody = (request.declaredLength ?? 0) > 64 << 10 || request.field("Expect") != nil
        guard hasLargeBody || request.field("Transfer-Encoding") != nil else {
            return .accept(.none) { Call(exchange: $0, context: context).respond(problem) }
        }
        context.observer(problem.status, problem.failure)
        return .refuse(context.readable(.problem(problem)))
    }

    /// `name` is the namespace that the path names for ``NamespaceSource/inPath``. The audit log states it.
    private func context(
        of asked: PrefixedRequest, _ visitor: AccessGate.Visitor, _ namespace: Namespace, named name: String? = nil,
        _ route: Route?, observer: @escaping @Sendable (Int, String?) -> Void
    ) -> RequestContext {
        let request = asked.request
        let operation = route?.endpoint.operation ?? "none"
        let isRead = request.method == "GET" || request.isHead
        let vary = isRead ? route.flatMap { gate.vary(in: $0.source, isFenced: $0.isFenced) } : nil
        return RequestContext(
            request: request, pathPrefix: asked.pathPrefix, operation: operation, visitor: visitor,
            namespace: namespace, metrics: metrics, vary: vary, isFenced: route?.isFenced ?? false, logger: logger,
            changedNamespace: name, observer: observer)
    }

    private func observer(
        of request: Request, operation: String, since start: ContinuousClock.Instant
    ) -> @Sendable (Int, String?) -> Void {
        let (metrics, logger, logsRequests) = (metrics, logger, logsRequests)
        return { status, failure in
            let duration = ContinuousClock.now - start
            metrics.record(operation: operation, status: status, duration: duration)
            // The server itself has failed. An operator must see the failure even if requests are not logged.
            if let failure {
                logger.error(
                    "request failed",
                    metadata: ["operation": "\(operation)", "status": .number(status), "reason": "\(failure)"])
            }
            guard logsRequests else { return }
            // The query may contain a secret, and so may the path of a malformed request. Neither is logged.
            let isSecret = status == 400 || Self.mayHaveTicket(request) || TokenCredentials.areIn(request.path)
            let path = isSecret ? "…" : request.path
            logger.debug(
                "request",
                metadata: [
                    "method": "\(request.method)", "path": "\(path)", "status": .number(status),
                    "operation": "\(operation)", "milliseconds": .number(duration.milliseconds),
                    "remote": "\(request.remoteAddress)",
                ])
        }
    }

    /// Whether the path has more segments than `/pages/KEY/view`. The path of a view has its ticket behind them. Other
    /// spellings of such a path, which no route knows, may have a ticket, too.
    private static func mayHaveTicket(_ request: Request) -> Bool {
        let path = PrefixedRequest(request).request.path
        return path.hasPrefix("/pages/") && path.utf8.count { $0 == UInt8(ascii: "/") } > 3
    }

    /// The name comes from the path's prefix, else from `Larder-Namespace`, else from the token, else it is `default`.
    /// Throws 400 if prefix and field differ, or if the route refuses the field, and 404 if there is no such namespace.
    /// Calls that concern the whole server, or a namespace that their path or query names, get the default namespace,
    /// and ignore `Larder-Namespace`, which many clients always send. Calls that need no token ignore the prefix.
    private func namespace(
        of asked: PrefixedRequest, _ route: Route, _ visitor: AccessGate.Visitor
    ) throws(Problem) -> Namespace {
        let request = asked.request
        if asked.hasPrefix, asked.name == nil {
            throw .invalid("the namespace in the path has a broken percent-escape or is not UTF-8")
        }
        switch route.source {
        case .inPath:
            try checkNamed(by: asked, route, visitor)
            return namespaces.default
        case .inQuery where Self.namesNamespace(request.query):
            guard !asked.hasPrefix else {
                throw .invalid("the path and the query name a namespace; leave one of them out", pointer: "/namespace")
            }
            return namespaces.default
        case .server:
            try checkNamed(by: asked, route, visitor)
            // Only tokens for the default namespace may use calls that concern all namespaces.
            if route.scope != nil { try visitor.check(namespace: NamespaceName.default) }
            return namespaces.default
        case .ticket:
            guard let namespace = namespaces.find(asked.name ?? NamespaceName.default) else {
                throw Problem(PageViewer.Failure.ticket)
            }
            return namespace
        case .named, .prefixed, .inQuery: break
        }
        let name =
            try named(by: request, asked, route) ?? visitor.bearer?.token.ownNamespace
            ?? NamespaceName.default
        return try find(name, visitor)
    }

    /// Checks the namespace in the path's prefix, if the call works in another namespace. A route that needs no token
    /// skips the check, so that its answers do not reveal whether a namespace exists.
    private func checkNamed(by asked: PrefixedRequest, _ route: Route, _ visitor: AccessGate.Visitor) throws(Problem) {
        guard route.scope != nil, let name = asked.name else { return }
        _ = try find(name, visitor)
    }

    private func find(_ name: String, _ visitor: AccessGate.Visitor) throws(Problem) -> Namespace {
        try visitor.check(namespace: name)
        guard let namespace = namespaces.find(name) else { throw Problem(NamespaceError.unknown(name)) }
        return namespace
    }

    private func named(by request: Request, _ asked: PrefixedRequest, _ route: Route) throws(Problem) -> String? {
        let names = request.values(Self.namespaceField)
        guard let name = names.first else { return asked.name }
        let pointer = "/\(Self.namespaceField)"
        if route.source == .prefixed {
            throw .invalid(
                "/fetch takes the namespace from the path and not from \(Self.namespaceField); write "
                    + "/@\(asked.name ?? (name.isEmpty ? "NAME" : name))/fetch/…",
                pointer: pointer)
        }
        guard names.count < 2 else {
            throw .invalid("\(Self.namespaceField) is given twice; give it once", pointer: pointer)
        }
        if let inPath = asked.name, inPath != name {
            throw .invalid(
                "the path names the namespace \(inPath), and \(Self.namespaceField) names \(name); "
                    + "leave one of them out", pointer: pointer)
        }
        return name
    }

    private static func namesNamespace(_ query: String?) -> Bool {
        query?.split(separator: "&").contains { $0.hasPrefix("namespace=") } ?? false
    }

    private static let namespaceField = HTTPField.Name("Larder-Namespace")!

    private static func decode(_ raw: PathParameters) throws(Problem) -> [(name: Substring, value: String)] {
        try zip(raw.names, raw.values).map { (name, value) throws(Problem) in
            guard let text = FormDecoding.decode(value.utf8, plusIsSpace: false) else {
                throw .invalid("the path has a broken percent-escape or is not UTF-8", pointer: "/" + name)
            }
            return (name, text)
        }
    }
}
