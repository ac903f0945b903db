import Larder
import Logging
import MicroHTTPD
import Primitives

package final class APIServer: Sendable {
    private let daemon: Daemon
    /// Serves probes and metrics; `nil` if no admin port is configured.
    private let adminDaemon: Daemon?
    private let draining: Flag
    package let routes: [(method: String, pattern: String)]
    private let logger: Logger
    private let service: LarderService

    /// Makes a server that does not listen yet. Without `tokens`, requests need no token. The admin port always uses
    /// plain HTTP, because the probes of containers do. `threads` is the number of serving threads; `nil`: 1 per core.
    package init(
        service: LarderService, tokens: TokenStore? = nil, tls: TLSCredentials? = nil, logger: Logger,
        threads: Int? = nil
    ) {
        let draining = Flag()
        let gate = AccessGate(tokens: tokens, web: WebGuard(of: service.configuration))
        let ready = ReadyAnswers(service: service, gate: gate)
        let apiRoutes = [
            DownloadRoutes(clock: service.clock).routes,
            EntryRoutes(clock: service.clock).routes,
            ExplainRoutes(outbox: service.outbox, clock: service.clock).routes,
            ContentRoutes(service: service, ready: ready).routes,
            FetchRoutes(ready: ready).routes,
            CaptureRoutes(clock: service.clock).routes, ViewRoutes(ready: ready).routes,
            NamespaceRoutes(service: service).routes,
            OutboxRoutes(outbox: service.outbox, clock: service.clock).routes,
            SubscriptionRoutes(subscriptions: service.subscriptions, clock: service.clock).routes,
            EventRoutes(events: service.events, namespaces: service.namespaces, gate: gate).routes,
            PageRoutes().routes,
        ].flatMap(\.self)
        var serviceRoutes = ServiceRoutes(service: service, isDraining: draining)
        let metrics = RequestMetrics(operations: (apiRoutes + serviceRoutes.routes).map(\.endpoint.operation))
        let connectionMetrics = ConnectionMetrics()
        serviceRoutes.httpMetrics = { text in
            metrics.write(into: &text)
            connectionMetrics.write(into: &text)
        }
        let allRoutes = apiRoutes + serviceRoutes.routes
        routes = allRoutes.map { ($0.method, $0.pattern) }
        self.draining = draining
        self.logger = logger
        self.service = service
        var configuration = DaemonConfiguration()
        configuration.host = service.configuration.host
        configuration.port = service.configuration.port
        configuration.tls = tls
        // The daemon accepts an eighth more connections than this, only to refuse them. The sum is the client limit.
        let connectionLimit = max(1, service.clientLimit - service.clientLimit / 9)
        configuration.connectionLimit = connectionLimit
        configuration.fullAnswer = .problem(Problem(503, "the server has reached its limit of connections; retry soon"))
        // A client with a body above the limit gets a 413, even if it announced no length, because the daemon reads and
        // discards the rest of the body. The minimum rate applies to the rest, too.
        configuration.discardLimit = 64 << 20
        configuration.connectionLimitPerAddress = service.configuration.connectionsPerClient(of: connectionLimit)
        configuration.crowdAnswer = .problem(
            Problem(503, "your address has reached its limit of connections; close some"))
        configuration.refused = { connectionMetrics.countRefusal($0) }
        configuration.refusal = { defect in
            metrics.record(operation: "none", status: defect.status, duration: .zero)
            return .problem(Problem(defect.status, defect.reason))
        }
        configuration.lateAnswer = .problem(Problem(408, "the request arrived too slowly"))
        if let threads { configuration.threads = threads }
        configuration.log = { logger.debug("libmicrohttpd", metadata: ["words": .string($0)]) }
        daemon = Daemon(
            configuration: configuration,
            handler: APIHandler(
                routes: allRoutes, metrics: metrics, ready: ready,
                passing: PassingAnswers(metrics: metrics, gate: gate, outbox: service.outbox), gate: gate,
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

    /// Throws ``MicroHTTPD/DaemonError`` if an address cannot be used.
    package func start() throws {
        try daemon.start()
        service.listens(on: daemon.port)
        if !daemon.checksHeads {
            logger.warning("libmicrohttpd has an unknown version: some malformed requests are accepted")
        }
    }

    /// Has no effect if no admin port is configured. Throws as ``start()`` does.
    package func startAdmin() throws {
        guard let adminDaemon else { return }
        try adminDaemon.start()
        service.listens(on: adminDaemon.port)
    }

    /// See ``MicroHTTPD/Daemon/use(_:)``.
    package func use(_ credentials: TLSCredentials) { daemon.use(credentials) }

    /// Valid after ``start()``.
    package var port: UInt16 { daemon.port }
    /// Valid after ``startAdmin()``; `nil` if no admin port is configured.
    package var adminPort: UInt16? { adminDaemon?.port }

    /// Begins to drain: from now on `/readyz` answers 503 and every answer closes its connection. Requests are still
    /// served, except for event streams, which end so that their clients reconnect to another server.
    package func beginDraining() {
        draining.set()
        daemon.beginDraining()
        service.events.stop()
    }

    package func stop(deadline: Duration) async {
        service.events.stop()
        await daemon.stop(deadline: deadline)
        // The admin daemon stops last, so that its `/readyz` reports the draining while the other daemon stops.
        await adminDaemon?.stop(deadline: .seconds(1))
    }
}

extension WebGuard {
    /// A server beyond loopback without configured hosts accepts any host name, because its own names are unknown.
    fileprivate init(of configuration: Configuration) {
        let names = configuration.allowedHosts + [configuration.host.lowercased()]
        self.init(
            hosts: configuration.isOnLoopback || !configuration.allowedHosts.isEmpty ? Set(names) : nil,
            origins: Set(configuration.corsOrigins))
    }
}
