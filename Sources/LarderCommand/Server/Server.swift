import Foundation
import Larder
import LarderAPI
import Logging
import MicroHTTPD
import Primitives
import ServiceLifecycle

/// The server: `init` opens the cache, ``run()`` serves, and drains after a signal to stop.
final class Server: Service {
    private let service: LarderService
    private let tokens: TokenStore?
    private let tls: TLSFiles?
    private let api: APIServer
    private let logger: Logger

    init(configuration: Configuration, logger: Logger) throws {
        self.logger = logger
        // Tokens and certificates are read before the cache is opened, so that their errors leave no open cache behind.
        tokens = try configuration.tokensFile.map { path in try TokenStore(file: path) }
        let files = TLSFiles(of: configuration)
        let credentials = try files.map { files in try files.read() }
        tls = files
        service = try LarderService(
            configuration: configuration, logger: logger, memoryPressure: .ofThisProcess)
        api = APIServer(service: service, tokens: tokens, tls: credentials, logger: logger)
        if let credentials { checkDates(of: credentials) }
    }

    /// Handles signals before it listens, because a reader of the log line "listening" may immediately send a signal.
    func run() async throws {
        let trims = DispatchSource.handling(SIGUSR1) { [service, logger] in
            service.memory.trim { trimmed in
                logger.info("memory was released", metadata: ["bytes": .number(trimmed.freedBytes)])
            }
        }
        defer { trims.cancel() }
        let reloads = DispatchSource.handling(SIGHUP) { [self] in reload() }
        defer { reloads.cancel() }
        do {
            try listen()
        } catch {
            await blocking { [service] in service.close() }
            throw error
        }
        let upkeep = Task { [service] in await service.maintain() }
        try? await gracefulShutdown()
        upkeep.cancel()
        await drain()
    }

    private func listen() throws {
        let configuration = service.configuration
        // The admin port opens first, so that the main port serves no caller if the admin port cannot be opened.
        do {
            try api.startAdmin()
        } catch let error as DaemonError {
            let place = configuration.authority(port: configuration.adminPort ?? 0)
            throw StartError(error, at: place, isAdmin: true)
        }
        try api.start()
        logger.info(
            "listening",
            metadata: [
                "url": "\(tls == nil ? "http" : "https")://\(configuration.authority(port: api.port))",
                "directory": "\(configuration.directory)", "layout": "\(configuration.layout)",
                "version": "\(Version.current)", "access": tokens == nil ? "open" : "tokens",
            ])
        if let port = api.adminPort {
            logger.info(
                "probes and metrics", metadata: ["url": "http://\(configuration.authority(port: port))/metrics"])
        }
        if tokens == nil, !configuration.isOnLoopback {
            logger.warning("--open gives every client that reaches this server full access")
        }
    }

    private func reload() {
        if tokens == nil, tls == nil {
            let reason = "the server has no token file and no certificate to reload"
            logger.notice("SIGHUP was ignored", metadata: ["reason": "\(reason)"])
        }
        reporting("tokens could not be reloaded; the previous ones stay in force") {
            guard let count = try tokens?.reload() else { return }
            logger.notice("tokens were reloaded", metadata: ["tokens": .number(count)])
        }
        reporting("the certificate could not be reloaded; the previous one stays in use") {
            guard let credentials = try tls?.read() else { return }
            // New connections get the new certificate; open connections keep the old one.
            api.use(credentials)
            logger.notice("the certificate was reloaded", metadata: Self.metadata(of: credentials))
            checkDates(of: credentials)
        }
    }

    private func reporting(_ failure: Logger.Message, _ work: () throws -> Void) {
        do {
            try work()
        } catch {
            logger.error(failure, metadata: ["reason": "\(error)"])
        }
    }

    /// Warns if a certificate has expired or is not valid yet. It is used anyway, because some clients check no dates.
    private func checkDates(of credentials: TLSCredentials) {
        let now = SystemClock().now()
        if now > credentials.notAfter {
            logger.warning("the certificate has expired", metadata: Self.metadata(of: credentials))
        } else if now < credentials.notBefore {
            logger.warning("the certificate is not valid yet", metadata: Self.metadata(of: credentials))
        }
    }

    private static func metadata(of credentials: TLSCredentials) -> Logger.Metadata {
        [
            "serial": "\(credentials.serialNumber)", "from": "\(credentials.notBefore.rfc3339)",
            "until": "\(credentials.notAfter.rfc3339)",
        ]
    }

    /// Makes `/readyz` answer 503 at once, serves new requests for the drain delay, and lets requests in flight finish.
    private func drain() async {
        let configuration = service.configuration
        api.beginDraining()
        logger.info("draining", metadata: ["delay": .seconds(configuration.drainDelay)])
        // A new task, because the current task counts as cancelled and would not sleep.
        await Task { try? await Task.sleep(for: configuration.drainDelay) }.value
        await api.stop(deadline: configuration.drainTimeout)
        await blocking { [service] in service.close() }
        logger.info("stopped")
    }

    private func blocking(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                work()
                continuation.resume()
            }
        }
    }
}
