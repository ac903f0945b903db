import CMicroHTTPD
import Foundation
import Primitives
import Synchronization

/// An HTTP/1.1 server: libmicrohttpd on a few threads, each with its own epoll.
///
/// A request is shown to the ``RequestHandler`` when its head is complete; the handler refuses it, or says what to do
/// with its body and who answers. The answer may come at once, on libmicrohttpd's thread, or later from any thread:
/// until then the connection is suspended and costs nothing but its memory.
///
/// A daemon that was started must be stopped with ``stop(deadline:)``; only dropping it leaves it running.
public final class Daemon: Sendable {
    private let configuration: Configuration
    private let handler: any RequestHandler
    private let lifecycle = Locked(Lifecycle.idle)
    /// `nil` without TLS.
    private let tls: CurrentCredentials?

    private enum Lifecycle: Sendable {
        case idle
        case running(RunningDaemon)
        case stopping(RunningDaemon)
        case stopped
    }

    /// A daemon that does not listen yet.
    public init(configuration: Configuration = Configuration(), handler: any RequestHandler) {
        self.configuration = configuration
        self.handler = handler
        tls = configuration.tls.map { CurrentCredentials($0) }
    }

    /// Starts to listen and to serve. Throws ``DaemonError``. A daemon can be started once.
    public func start() throws {
        let isIdle = lifecycle.withLock { state in
            if case .idle = state { return true }
            return false
        }
        precondition(isIdle, "a daemon can be started only once")
        let running = try RunningDaemon(configuration: configuration, handler: handler, tls: tls)
        lifecycle.withLock { $0 = .running(running) }
    }

    private var running: RunningDaemon? {
        lifecycle.withLock { state in
            switch state {
            case .running(let daemon), .stopping(let daemon): return daemon
            case .idle, .stopped: return nil
            }
        }
    }

    /// The port that the daemon listens on; 0 before the start and after the stop.
    public var port: UInt16 { running?.port ?? 0 }

    /// Whether all of a request's head is checked; before the start, too. Where `false`, the libmicrohttpd that is
    /// loaded is not one that this was made for: a NUL, a folded line or a bare line feed in a head, which it hides, is
    /// no ``Request/defect`` then, so others may read the same request differently. Whoever runs the daemon should be
    /// told.
    public var checksHeads: Bool { configuration.isLayoutKnown }

    /// How many clients are connected.
    public var connectionCount: Int { running?.core.registry.count ?? 0 }

    /// Bytes that were sent to clients since the start, as the kernel counts them: heads and bodies, over TLS what goes
    /// over the network, of connections that are open what their clients have acknowledged. It never falls while the
    /// daemon runs; 0 before and after, and where the kernel does not count (Linux does from 4.1 on). It asks the
    /// kernel about each connection, and costs an answer nothing.
    public var sentBytes: Int64 { running?.core.registry.sentBytes ?? 0 }

    /// How many requests have come, with their first line at least, and are not answered whole yet. It looks at every
    /// connection.
    public var exchangesInFlight: Int { running?.core.registry.busyCount ?? 0 }

    /// From now on new connections begin with these credentials; those that are open go on with theirs. Before the
    /// start it may be called, too. Nothing happens on a daemon that was configured without TLS.
    public func use(_ credentials: TLSCredentials) {
        tls?.use(credentials)
    }

    /// From now on every answer carries `Connection: close`, so that clients go elsewhere for their next request. New
    /// connections are still accepted.
    public func beginDraining() {
        running?.core.isDraining.store(true, ordering: .relaxed)
    }

    /// Stops: closes the listening socket, waits until the requests that had arrived by then are answered, also where
    /// no thread had come to read them, and the clients that were refused had time to see it (at most 5 s of silence
    /// each), at most `deadline`, then cuts off what is left (each ``Exchange`` that is not answered by then hangs up)
    /// and ends the threads. Returns when all of that is done. Stopping a daemon that does not run does nothing.
    public func stop(deadline: Duration) async {
        let daemon: RunningDaemon? = lifecycle.withLock { state in
            guard case .running(let daemon) = state else { return nil }
            state = .stopping(daemon)
            return daemon
        }
        guard let daemon else { return }
        await withCheckedContinuation { continuation in
            // It blocks, so it must not take a thread of the concurrency pool.
            _ = NamedThread("http-stop") {
                daemon.stop(deadline: deadline)
                continuation.resume()
            }
        }
        lifecycle.withLock { $0 = .stopped }
    }
}
