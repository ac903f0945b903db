import Foundation
import Larder
import LarderAPI
import Logging
import MicroHTTPD
import Primitives
import ServiceLifecycle

/// The server: opened by `init`, served by ``run()``, drained when it is told to stop.
final class Server: Service {
    private let service: LarderService
    private let tokens: TokenStore?
    private let tls: TLSFiles?
    private let api: APIServer
    private let logger: Logger

    /// Opens the cache.
    init(configuration: Configuration, logger: Logger) throws {
        self.logger = logger
        // Before anything that a mistake in it would leave behind.
        tokens = try configuration.tokensFile.map { path in try TokenStore(file: path) }
        let files = TLSFiles(of: configuration)
        let credentials = try files.map { files in try files.read() }
        tls = files
        service = try LarderService(
            configuration: configuration, logger: logger, memoryPressure: .ofThisProcess)
        api = APIServer(service: service, tokens: tokens, tls: credentials, logger: logger)
        if let credentials { checkDates(of: credentials) }
    }

    /// Begins to listen, by when all signals are waited for: whoever reads that it listens may send one.
    func run() async throws {
        let trims = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        trims.setEventHandler { [service, logger] in
            service.memory.trim { trimmed in
                logger.info("memory was given back", metadata: ["bytes": .number(trimmed.freedBytes)])
            }
        }
        trims.resume()
        defer { trims.cancel() }
        let reloads = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        reloads.setEventHandler { [self] in reload() }
        reloads.resume()
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
        // First: callers are served by a server that is whole.
        do {
            try api.startAdmin()
        } catch {
            throw AdminPortError(cause: error, configuration: configuration)
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
            logger.warning("everybody who can reach this server may do everything, as --open says")
        }
    }

    /// What an operator changes while the server runs.
    private func reload() {
        guard tokens != nil || tls != nil else {
            logger.notice(
                "SIGHUP changes nothing", metadata: ["reason": "there are no tokens and no certificate to read anew"])
            return
        }
        reloadTokens()
        reloadTLS()
    }

    private func reloadTokens() {
        guard let tokens else { return }
        do {
            let count = try tokens.reload()
            logger.notice("tokens were read anew", metadata: ["tokens": .number(count)])
        } catch {
            logger.error("tokens stay as they were", metadata: ["reason": "\(error)"])
        }
    }

    /// New connections get what the files hold now; those that are open go on with what they have.
    private func reloadTLS() {
        guard let tls else { return }
        do {
            let credentials = try tls.read()
            api.use(credentials)
            logger.notice("the certificate was read anew", metadata: Self.metadata(of: credentials))
            checkDates(of: credentials)
        } catch {
            logger.error("the certificate stays as it was", metadata: ["reason": "\(error)"])
        }
    }

    /// A certificate whose time has not come, or is over, is shown all the same: it is clients who refuse it, and some
    /// do not look.
    private func checkDates(of credentials: TLSCredentials) {
        let now = SystemClock().now()
        if now > credentials.notAfter {
            logger.warning("the certificate has expired", metadata: Self.metadata(of: credentials))
        } else if now < credentials.notBefore {
            logger.warning("the certificate is not good yet", metadata: Self.metadata(of: credentials))
        }
    }

    private static func metadata(of credentials: TLSCredentials) -> Logger.Metadata {
        [
            "serial": "\(credentials.serialNumber)", "from": "\(credentials.notBefore.rfc3339)",
            "until": "\(credentials.notAfter.rfc3339)",
        ]
    }

    /// `/readyz` says 503 at once; new requests are served for the drain delay; those in flight may finish.
    private func drain() async {
        let configuration = service.configuration
        api.beginDraining()
        logger.info("draining", metadata: ["delay": .seconds(configuration.drainDelay)])
        // A new task, because this one counts as cancelled by now and would not wait.
        await Task { try? await Task.sleep(for: configuration.drainDelay) }.value
        await api.stop(deadline: configuration.drainTimeout)
        await blocking { [service] in service.close() }
        logger.info("stopped")
    }

    /// Runs what blocks on a thread of its own.
    private func blocking(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                work()
                continuation.resume()
            }
        }
    }
}

/// Why the port for probes and metrics could not be listened on.
struct AdminPortError: Error, CustomStringConvertible {
    let description: String

    init(cause: any Error, configuration: Configuration) {
        let place = configuration.authority(port: configuration.adminPort ?? 0)
        let error = cause as? DaemonError
        description =
            error?.step == .listen && error?.code == EADDRINUSE
            ? "\(place) is in use: stop the server that listens there, or choose another with --admin-port"
            : "cannot listen on \(place), which --admin-port names: \(error?.reason ?? "\(cause)")"
    }
}
