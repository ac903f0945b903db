import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// A daemon between start and stop. `@unchecked Sendable` is safe because all members are set once, except `socket`,
/// and `stop`, which clears `socket`, is called once, from one thread.
final class RunningDaemon: @unchecked Sendable {
    let core: DaemonCore
    let port: UInt16
    private let threads: ServingThreads
    private let acceptor: Acceptor
    private let acceptorThread: NamedThread
    private let watcherThread: NamedThread
    private var socket: ListeningSocket?

    init(configuration: DaemonConfiguration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        // Fails if the executable does not export the functions, or loads this module after the originals' libraries.
        guard ServingThread.waitsInFront, ConnectionDriver.receivesInFront else {
            throw DaemonError(
                step: .start, code: 0,
                reason:
                    "libmicrohttpd does not find epoll_wait, recv and gnutls_record_recv in the executable; link it "
                    + "with --export-dynamic-symbol for each of them"
            )
        }
        let socket = try ListeningSocket(host: configuration.host, port: configuration.port)
        let lastLine = Locked("libmicrohttpd refused to start")
        var configuration = configuration
        let log = configuration.log
        configuration.log = { line in
            lastLine.withLock { $0 = line }
            log(line)
        }
        let core = try DaemonCore(configuration: configuration, handler: handler, tls: tls)
        let threads = try ServingThreads(core: core) { lastLine.withLock { $0 } }
        do {
            acceptor = try Acceptor(
                socket: socket, core: core, threads: threads, limit: configuration.effectiveConnectionLimit)
        } catch {
            threads.stop()
            throw error
        }
        self.core = core
        self.threads = threads
        self.socket = socket
        port = socket.port
        acceptorThread = NamedThread("http-accept") { [acceptor] in acceptor.run() }
        watcherThread = NamedThread("http-watch") {
            var watcher = Watcher(core: core)
            watcher.run()
        }
    }

    /// Blocks until all threads and connections have ended; see ``Daemon/stop(deadline:)``.
    func stop(deadline: Duration) {
        core.exchanges.isDraining.store(true, ordering: .relaxed)
        acceptor.stop()
        acceptorThread.join()
        socket?.stopListening()

        let end = MonotonicClock.milliseconds() + max(0, deadline.milliseconds)
        // A thread that has read a request and lost its processor before reporting it looks quiet: look several times.
        var quietLooks = 0
        while quietLooks < 10, MonotonicClock.milliseconds() < end {
            quietLooks = core.registry.isQuiet ? quietLooks + 1 : 0
            usleep(2000)
        }

        // libmicrohttpd aborts the process if it is stopped with a suspended connection. So no connection may be
        // suspended any more, every suspended connection is resumed, and the loop waits for resumptions in progress.
        core.suspensions.hangUpAll()
        while !core.suspensions.isEmpty { usleep(200) }
        threads.stop()
        // Clients that were refused a moment ago may not have read the refusal yet.
        while !core.lingering.isEmpty, MonotonicClock.milliseconds() < end { usleep(2000) }
        core.sockets.stop()
        watcherThread.join()
        core.lingering.closeAll()
        socket = nil
    }
}
