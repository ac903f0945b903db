import Foundation
import Larder
import LarderAPI
import Logging
import MicroHTTPD
import ServiceLifecycle

/// The server: opened by `init`, served by ``run()``, drained when it is told to stop.
final class Server: Service {
    private let service: LarderService
    private let tokens: TokenStore?
    private let api: APIServer
    private let logger: Logger

    /// Opens the cache.
    init(configuration: Configuration, logger: Logger) throws {
        self.logger = logger
        // Before anything that a mistake in it would leave behind.
        tokens = try configuration.tokensFile.map { path in try TokenStore(file: path) }
        service = try LarderService(
            configuration: configuration, logger: logger, memoryPressure: .ofThisProcess)
        api = APIServer(service: service, tokens: tokens, logger: logger)
    }

    /// Begins to listen, by when all signals are waited for: whoever reads that it listens may send one.
    func run() async throws {
        let trims = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        trims.setEventHandler { [service, logger] in
            service.memory.trim { trimmed in
                logger.info("memory was given back", metadata: ["bytes": "\(trimmed.freedBytes)"])
            }
        }
        trims.resume()
        defer { trims.cancel() }
        let reloads = tokens.map { _ in DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global()) }
        reloads?.setEventHandler { [self] in reload() }
        reloads?.resume()
        defer { reloads?.cancel() }
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
                "url": "http://\(configuration.host):\(api.port)", "directory": "\(configuration.directory)",
                "layout": "\(configuration.layout)", "version": "\(Version.current)",
                "access": tokens == nil ? "open" : "tokens",
            ])
        if let port = api.adminPort {
            logger.info("probes and metrics", metadata: ["url": "http://\(configuration.host):\(port)/metrics"])
        }
        if tokens == nil, !configuration.isOnLoopback {
            logger.warning("everybody who can reach this server may do everything, as --open says")
        }
    }

    /// What an operator changes while the server runs.
    private func reload() {
        guard let tokens else { return }
        do {
            let count = try tokens.reload()
            logger.notice("tokens were read anew", metadata: ["tokens": "\(count)"])
        } catch {
            logger.error("tokens stay as they were", metadata: ["reason": "\(error)"])
        }
    }

    /// `/readyz` says 503 at once; new requests are served for the drain delay; those in flight may finish.
    private func drain() async {
        let configuration = service.configuration
        logger.info("draining", metadata: ["delay": "\(configuration.drainDelay)"])
        api.beginDraining()
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
        let reason = (cause as? DaemonError)?.reason ?? "\(cause)"
        description = "cannot listen on --admin-port \(configuration.adminPort ?? 0): \(reason)"
    }
}
