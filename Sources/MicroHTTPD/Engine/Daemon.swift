import Primitives
import Synchronization

/// An HTTP/1.1 server: libmicrohttpd on a few threads, each with its own epoll. When the head of a request is complete,
/// the daemon passes the request to the ``RequestHandler``. The handler answers at once, on libmicrohttpd's thread, or
/// later from any thread. Until the answer the connection is suspended, and costs only its memory.
///
/// ```
/// struct Greeting: RequestHandler {
///     func receive(_ request: Request) -> Reception {
///         .accept(.none) { $0.respond(Response(body: .bytes(SharedBytes("hello\n".utf8)))) }
///     }
/// }
///
/// let daemon = Daemon(handler: Greeting())
/// try daemon.start()
/// print("http://127.0.0.1:\(daemon.port)/")
/// await daemon.stop(deadline: .seconds(5))
/// ```
///
/// Stop a started daemon with ``stop(deadline:)``: it keeps running if it is only released.
package final class Daemon: Sendable {
    private let configuration: DaemonConfiguration
    private let handler: any RequestHandler
    private let lifecycle = Locked(Lifecycle.idle)
    private let tls: CurrentCredentials?

    private enum Lifecycle: Sendable {
        case idle
        case running(RunningDaemon)
        case stopping(RunningDaemon)
        case stopped
    }

    package init(configuration: DaemonConfiguration = DaemonConfiguration(), handler: any RequestHandler) {
        self.configuration = configuration
        self.handler = handler
        tls = configuration.tls.map { CurrentCredentials($0) }
    }

    /// Throws ``DaemonError``. A daemon can be started once.
    package func start() throws {
        let isIdle = lifecycle.withLock { if case .idle = $0 { true } else { false } }
        precondition(isIdle, "a daemon can be started only once")
        let running = try RunningDaemon(configuration: configuration, handler: handler, tls: tls)
        lifecycle.withLock { $0 = .running(running) }
    }

    var running: RunningDaemon? {
        lifecycle.withLock { state in
            switch state {
            case .running(let daemon), .stopping(let daemon): return daemon
            case .idle, .stopped: return nil
            }
        }
    }

    /// 0 before the start and after ``stop(deadline:)``.
    package var port: UInt16 { running?.port ?? 0 }
    /// `false`: this module was not made for the loaded libmicrohttpd. A NUL, a folded line or a bare line feed in a
    /// head is then no ``Request/defect``, so other servers may read the request differently. Warn the operator.
    package var checksHeads: Bool { configuration.isLayoutKnown }
    /// Bytes of heads, bodies and TLS that clients have acknowledged since the start. Never decreases while the daemon
    /// runs; 0 where the kernel does not count. Asks the kernel about each connection.
    package var sentBytes: Int64 { running?.core.registry.sentBytes ?? 0 }

    /// Uses the credentials for new connections, but not for open ones. May precede the start. No effect without TLS.
    package func use(_ credentials: TLSCredentials) {
        tls?.use(credentials)
    }

    /// Makes every answer send `Connection: close`, so that clients connect elsewhere. Still accepts new connections.
    package func beginDraining() {
        running?.core.exchanges.isDraining.store(true, ordering: .relaxed)
    }

    /// Returns when the daemon has stopped. Has no effect on a daemon that does not run. The daemon takes these steps:
    /// 1. It closes the listening socket.
    /// 2. It waits for two things, for at most `deadline`: all requests that have arrived are answered, including
    ///    requests that no thread has read yet, and refused clients had time to read their refusal (at most 5 s of
    ///    silence each).
    /// 3. It cuts off the remaining clients (each unanswered ``Exchange`` hangs up) and ends the threads.
    package func stop(deadline: Duration) async {
        let daemon: RunningDaemon? = lifecycle.withLock { state in
            guard case .running(let daemon) = state else { return nil }
            state = .stopping(daemon)
            return daemon
        }
        guard let daemon else { return }
        await withCheckedContinuation { continuation in
            // `daemon.stop` blocks its thread, which must not be a thread of the concurrency pool.
            _ = NamedThread("http-stop", stackSize: 256 << 10) {
                daemon.stop(deadline: deadline)
                continuation.resume()
            }
        }
        lifecycle.withLock { $0 = .stopped }
    }
}
