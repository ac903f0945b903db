import Larder
import Logging
import MicroHTTPD
import Primitives
import Synchronization

/// Serves the API of a service over HTTP.
public final class APIServer: Sendable {
    private let daemon: Daemon
    /// Of the port for probes and metrics.
    private let adminDaemon: Daemon?
    private let draining: DrainFlag
    private let allRoutes: [Route]
    private let logger: Logger
    private let service: LarderService

    /// A server that is not started yet.
    ///
    /// - Parameters:
    ///   - tokens: those that requests must have; `nil`, the default: none.
    ///   - tls: what TLS is spoken with; `nil`, the default: HTTP in the clear, as it always is on the port for probes
    ///     and metrics, because the probes of containers are.
    ///   - threads: how many threads serve connections; `nil` for one a core.
    public init(
        service: LarderService, tokens: TokenStore? = nil, tls: TLSCredentials? = nil, logger: Logger,
        threads: Int? = nil
    ) {
        let draining = DrainFlag()
        let gate = AccessGate(tokens: tokens, web: WebGuard(of: service.configuration))
        let ready = ReadyAnswers(service: service, gate: gate)
        let apiRoutes = [
            DownloadRoutes(clock: service.clock).routes,
            EntryRoutes(clock: service.clock).routes,
            ExplainRoutes(clock: service.clock).routes,
            ContentRoutes(service: service, ready: ready).routes,
            FetchRoutes(ready: ready).routes,
            NamespaceRoutes(namespaces: service.namespaces, clock: service.clock).routes,
            EventRoutes(events: service.events, namespaces: service.namespaces, gate: gate).routes,
            DashboardRoutes().routes,
            DocumentationRoutes().routes,
        ].flatMap(\.self)
        var serviceRoutes = ServiceRoutes(service: service, isDraining: { draining.isSet })
        let metrics = RequestMetrics(
            operations: (apiRoutes + serviceRoutes.routes).map(\.endpoint.operation))
        let connectionMetrics = ConnectionMetrics()
        serviceRoutes.httpMetrics = { text in
            metrics.write(into: &text)
            connectionMetrics.write(into: &text)
        }
        allRoutes = apiRoutes + serviceRoutes.routes
        self.draining = draining
        self.logger = logger
        self.service = service
        var configuration = Daemon.Configuration()
        configuration.host = service.configuration.host
        configuration.port = service.configuration.port
        configuration.tls = tls
        // The reserve for who is refused is an eighth of it, and part of what clients may have.
        let connectionLimit = max(1, service.clientLimit - service.clientLimit / 9)
        configuration.connectionLimit = connectionLimit
        configuration.fullAnswer = .problem(
            Problem(status: 503, detail: "the server has as many connections as it may; try again soon"))
        // Who sends more than is taken gets an answer that says so, even when the length was not announced: the rest is
        // read and thrown away, at the rate that any body must keep.
        configuration.discardLimit = 64 << 20
        configuration.connectionLimitPerAddress = service.configuration.connectionsPerClient(of: connectionLimit)
        configuration.crowdAnswer = .problem(
            Problem(status: 503, detail: "your address has as many connections as it may; close some"))
        configuration.refused = { connectionMetrics.countRefusal($0) }
        configuration.refusal = { defect in
            metrics.record(operation: "none", status: defect.status, duration: .zero)
            return .problem(Problem(status: defect.status, detail: defect.reason))
        }
        configuration.lateAnswer = .problem(Problem(status: 408, detail: "the request took too long to come"))
        if let threads { configuration.threads = threads }
        configuration.log = { logger.debug("libmicrohttpd", metadata: ["words": .string($0)]) }
        daemon = Daemon(
            configuration: configuration,
            handler: APIHandler(
                routes: allRoutes, metrics: metrics, ready: ready,
                passing: PassingAnswers(hits: service.metrics.hits, metrics: metrics, gate: gate), gate: gate,
                namespaces: service.namespaces, logger: logger))
        connectionMetrics.watch(daemon)
        adminDaemon = service.configuration.adminPort.map { port in
            var configuration = configuration
            configuration.port = port
            configuration.tls = nil
            configuration.connectionLimit = 64
            configuration.connectionLimitPerAddress = service.configuration.connectionsPerClient(of: 64)
            configuration.threads = 1
            let routes = serviceRoutes.adminRoutes
            let metrics = RequestMetrics(operations: routes.map(\.endpoint.operation))
            return Daemon(
                configuration: configuration,
                handler: APIHandler(
                    routes: routes, metrics: metrics, ready: nil, passing: nil,
                    gate: AccessGate(tokens: nil, web: WebGuard(of: service.configuration)),
                    namespaces: service.namespaces, logger: logger))
        }
        if let adminDaemon { connectionMetrics.watch(adminDaemon) }
    }

    /// Begins to listen; throws ``MicroHTTPD/DaemonError`` when an address cannot be used.
    public func start() throws {
        try daemon.start()
        service.listens(on: daemon.port)
        if !daemon.checksHeads {
            logger.warning("this libmicrohttpd is not known: some malformed requests are taken for well-formed ones")
        }
    }

    /// Begins to listen on the port for probes and metrics, if there is to be one; throws as ``start()`` does.
    public func startAdmin() throws {
        guard let adminDaemon else { return }
        try adminDaemon.start()
        service.listens(on: adminDaemon.port)
    }

    /// New connections begin with other credentials from now on; see ``MicroHTTPD/Daemon/use(_:)``.
    public func use(_ credentials: TLSCredentials) {
        daemon.use(credentials)
    }

    /// The port in use, after ``start()``.
    public var port: UInt16 { daemon.port }

    /// The port for probes and metrics in use, after ``startAdmin()``; `nil` when there is none.
    public var adminPort: UInt16? { adminDaemon?.port }

    /// Every method and path pattern there is, as `GET /entries/:key`.
    public var routes: [(method: String, pattern: String)] {
        allRoutes.map { ($0.method, $0.pattern) }
    }

    /// From now on `/readyz` says 503 and every answer closes its connection; requests are still served, but for those
    /// that would listen to events: their streams end, so that they go elsewhere.
    public func beginDraining() {
        draining.set()
        daemon.beginDraining()
        service.events.stop()
    }

    /// Stops listening, lets requests in flight finish for at most `deadline`, then stops.
    public func stop(deadline: Duration) async {
        service.events.stop()
        await daemon.stop(deadline: deadline)
        // Last: until then it says that the server drains.
        await adminDaemon?.stop(deadline: .seconds(1))
    }
}

/// Whether the server is about to stop.
private final class DrainFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    func set() { flag.store(true, ordering: .relaxed) }

    var isSet: Bool { flag.load(ordering: .relaxed) }
}

extension WebGuard {
    /// On loopback the names are known by which a server is asked; elsewhere anybody may have given it one.
    fileprivate init(of configuration: Configuration) {
        let names = configuration.allowedHosts + [configuration.host.lowercased()]
        self.init(
            hosts: configuration.isOnLoopback || !configuration.allowedHosts.isEmpty ? Set(names) : nil,
            origins: Set(configuration.corsOrigins))
    }
}
