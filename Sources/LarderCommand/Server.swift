import Foundation
import Larder
import LarderAPI
import Logging
import ServiceLifecycle

/// The running server: opened by `init`, served by ``run()``, drained when it is told to stop.
final class Server: Service {
    private let service: LarderService
    private let api: APIServer
    private let logger: Logger

    /// Opens the cache and begins to listen.
    init(configuration: Configuration, logger: Logger) throws {
        self.logger = logger
        service = try LarderService(
            configuration: configuration, logger: logger, memoryPressure: .ofThisProcess)
        api = APIServer(service: service, logger: logger)
        do {
            try api.start()
        } catch {
            service.close()
            throw error
        }
        logger.info(
            "listening",
            metadata: [
                "url": "http://\(configuration.host):\(api.port)", "directory": "\(configuration.directory)",
                "layout": "\(configuration.layout)", "version": "\(Version.current)",
            ])
    }

    func run() async throws {
        let trims = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        trims.setEventHandler { [service, logger] in
            service.memory.trim { trimmed in
                logger.info("memory was given back", metadata: ["bytes": "\(trimmed.freedBytes)"])
            }
        }
        trims.resume()
        defer { trims.cancel() }
        let upkeep = Task { [service] in await service.maintain() }
        try? await gracefulShutdown()
        upkeep.cancel()
        await drain()
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
