import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// A daemon between start and stop: the threads that serve connections, and two beside them.
///
/// Sendable because everything in it is set once and `stop` is called once, from one thread.
final class RunningDaemon: @unchecked Sendable {
    let core: DaemonCore
    let port: UInt16
    private let threads: ServingThreads
    private let acceptor: Acceptor
    private let acceptorThread: NamedThread
    private let watcherThread: NamedThread
    /// Given back in `stop`, which closes it.
    private var socket: ListeningSocket?

    init(configuration: Daemon.Configuration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        // Only whoever has changed how the executable is linked sees this.
        guard ServingThread.isInFront else {
            throw DaemonError(
                step: .start, code: 0,
                reason: "libmicrohttpd does not find the executable's epoll_wait, recv and gnutls_record_recv; the "
                    + "linker has to be told --export-dynamic-symbol for each of them")
        }
        // Then what can fail for a reason that the user can mend.
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

    /// Blocks until everything has ended; see ``Daemon/stop(deadline:)``.
    func stop(deadline: Duration) {
        core.isDraining.store(true, ordering: .relaxed)
        acceptor.stop()
        acceptorThread.join()
        socket?.stopListening()

        let end = MonotonicClock.milliseconds() + max(0, deadline.milliseconds)
        // Between reading a request and saying so a thread shows neither; it may be kept from its processor there.
        var quietLooks = 0
        while quietLooks < 10, MonotonicClock.milliseconds() < end {
            quietLooks = core.registry.isQuiet ? quietLooks + 1 : 0
            usleep(2000)
        }

        // libmicrohttpd aborts the process when it is stopped with a connection suspended, so nobody may suspend any
        // more, everybody is resumed, and then waited for: another thread may be about to resume one right now.
        core.suspensions.hangUpAll()
        while !core.suspensions.isEmpty { usleep(200) }
        threads.stop()
        // Who was refused a moment ago may not have seen it yet.
        while !core.lingering.isEmpty, MonotonicClock.milliseconds() < end { usleep(2000) }
        core.sockets.stop()
        watcherThread.join()
        core.lingering.closeAll()
        socket = nil
    }
}
