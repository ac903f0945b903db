import Foundation
import Primitives
import Synchronization

/// A daemon between start and stop. `@unchecked Sendable` is safe because all members but `socket` are set once, and
/// only `stop`, which is called once, changes `socket`.
final class RunningDaemon: @unchecked Sendable {
    let core: DaemonCore
    let port: UInt16
    private let threads: ServingThreads
    private let acceptor: Acceptor
    private let acceptorThread: NamedThread
    private let watcherThread: NamedThread
    private var socket: ListeningSocket?
    private static let stackSize = 256 << 10

    init(configuration: DaemonConfiguration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        // The check fails if the executable does not export the functions, or loads libc or GnuTLS before this module.
        guard ServingThread.waitsInFront, ConnectionDriver.receivesInFront else {
            throw DaemonError(
                step: .start, code: 0,
                reason: "libmicrohttpd does not find epoll_wait, recv and gnutls_record_recv in the executable; link "
                    + "it with --export-dynamic-symbol for each of them")
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
            acceptor = try Acceptor(socket: socket, core: core, threads: threads)
        } catch {
            threads.stop()
            throw error
        }
        self.core = core
        self.threads = threads
        self.socket = socket
        port = socket.port
        acceptorThread = NamedThread("http-accept", stackSize: Self.stackSize) { [acceptor] in acceptor.run() }
        watcherThread = NamedThread("http-watch", stackSize: Self.stackSize) {
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
        // `isQuiet` misses a request if its thread lost the processor just after the read. So check several times.
        var quietLooks = 0
        while quietLooks < 10, MonotonicClock.milliseconds() < end {
            quietLooks = core.registry.isQuiet ? quietLooks + 1 : 0
            usleep(2000)
        }

        // libmicrohttpd aborts the process if it is stopped with a suspended connection. So `hangUpAll` refuses further
        // suspensions and makes the owners resume their connections, and the loop waits for them.
        core.suspensions.hangUpAll()
        while !core.suspensions.isEmpty { usleep(200) }
        threads.stop()
        // The clients that were refused last may not have read the refusal yet.
        while !core.lingering.isEmpty, MonotonicClock.milliseconds() < end { usleep(2000) }
        core.sockets.stop()
        watcherThread.join()
        core.lingering.closeAll()
        socket = nil
    }
}

/// The state that all connections of a running daemon share.
final class DaemonCore: Sendable {
    let configuration: DaemonConfiguration
    let headLimits: HeadCheck.Limits
    let handler: any RequestHandler
    let registry = ConnectionRegistry()
    let threadLoads: ThreadLoads
    let suspensions = Suspensions()
    let sockets: SocketWatch
    let lingering: LingeringSockets
    let exchanges: ExchangeResources

    /// The configured answers as bytes; empty for an answer that is `nil`, and with TLS.
    let lateAnswer: [UInt8]
    let crowdAnswer: [UInt8]
    let fullAnswer: [UInt8]
    let tls: CurrentCredentials?
    /// ``DaemonConfiguration/requestDeadline``; `nil` is no limit.
    let requestMilliseconds: Int64?
    /// The time from the end of a request until the head of the next request must be complete; `nil` is no limit.
    let idleMilliseconds: Int64?

    init(configuration: DaemonConfiguration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        self.configuration = configuration
        headLimits = HeadCheck.Limits(
            head: configuration.headLimit, target: configuration.targetLimit,
            isLayoutKnown: configuration.isLayoutKnown)
        self.handler = handler
        threadLoads = ThreadLoads(threads: max(1, configuration.threads))
        guard let sockets = SocketWatch() else { throw DaemonError.system(.start) }
        self.sockets = sockets
        exchanges = ExchangeResources(
            bodyMemory: configuration.bodyMemoryLimit, answerMemory: configuration.answerMemoryLimit,
            discardLimit: configuration.discardLimit)
        func bytes(_ answer: Response?) -> [UInt8] { tls == nil ? answer?.wireForm(toHead: false) ?? [] : [] }
        lateAnswer = bytes(configuration.lateAnswer)
        crowdAnswer = bytes(configuration.crowdAnswer)
        fullAnswer = bytes(configuration.fullAnswer)
        self.tls = tls
        lingering = LingeringSockets(
            watch: sockets, registry: registry, limit: configuration.lingeringLimit, now: configuration.now)
        requestMilliseconds = configuration.requestDeadline.map { max(1, $0.milliseconds) }
        let idle = configuration.inactivityTimeout.milliseconds
        idleMilliseconds = idle > 0 ? requestMilliseconds.map { $0 + idle } : nil
    }

    func now() -> Int64 { configuration.now() }
}
