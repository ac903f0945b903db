import CMicroHTTPD
import Foundation
import Primitives

/// Accepts connections on a thread of its own and hands them to libmicrohttpd's threads. libmicrohttpd could listen by
/// itself, but three properties of 0.9.75 forbid it:
/// - `MHD_quiesce_daemon`, the only way to stop listening before stopping, races with the threads of a daemon over an
///   epoll registration, and aborts the process when it loses.
/// - A thread that finds the library's own connection limit reached keeps a mutex for ever. So the limit is enforced
///   here.
/// - A connection would go to the thread that calls `accept` first.
///
/// Clients beyond the limit are accepted, answered and closed, so that they, and health probes, learn the reason. Their
/// sockets linger, in a reserve. Only when it is full, too, clients wait in the kernel's queue.
final class Acceptor: Sendable {
    private let socket: ListeningSocket
    private let core: DaemonCore
    private let limit: Int
    private let wake: WakeSignal
    private let threads: ServingThreads

    init(socket: ListeningSocket, core: DaemonCore, threads: ServingThreads, limit: Int) throws {
        self.socket = socket
        self.core = core
        self.threads = threads
        self.limit = limit
        guard let wake = WakeSignal() else { throw DaemonError.system(.start) }
        self.wake = wake
    }

    func stop() {
        wake.raise()
    }

    /// After ``stop()``, also accepts the connections that the kernel has completed, so that none of them is reset.
    func run() {
        while true {
            let isPaused = !canAccept
            var polled = [
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isPaused ? -1 : socket.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            // A freed place causes no event, so the loop checks again soon.
            _ = poll(&polled, 2, isPaused ? 20 : -1)
            let isStopping = polled[0].revents != 0
            if isStopping || polled[1].revents != 0 { acceptAll() }
            if isStopping { return }
        }
    }

    private var canAccept: Bool { !isFull || core.lingering.hasRoom }

    private var isFull: Bool { core.registry.servedCount >= limit }

    private func acceptAll() {
        while canAccept {
            var name = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let goesOn = withUnsafeMutableBytes(of: &name) { bytes in
                let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
                let descriptor = cmhd_accept(socket.descriptor, address, &length)
                if descriptor >= 0 {
                    add(descriptor, address, length)
                    return true
                }
                switch errno {
                case ECONNABORTED, EINTR, EPROTO, ENETDOWN, EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP:
                    return true
                case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                    core.configuration.log("accept: \(String(cString: strerror(errno)))")
                    // The socket stays readable: without a pause the loop would spin until a descriptor is free.
                    var stop = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
                    _ = poll(&stop, 1, 20)
                    return false
                default:
                    return false
                }
            }
            if !goesOn { return }
        }
    }

    private func add(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) {
        let limit = core.configuration.connectionLimitPerAddress
        let client = RemoteAddress(address)
        let isFull = isFull
        core.registry.expectOne()
        if isFull { return refuse(descriptor, .limit) }
        guard core.registry.admit(client, limit: limit) else { return refuse(descriptor, .address) }
        guard !threads.add(descriptor, address, length) else { return }
        core.registry.leave(client, limit: limit)
        core.registry.expectOneLess()
    }

    private func refuse(_ descriptor: Int32, _ reason: ConnectionRefusal) {
        core.configuration.refused(reason)
        let answer =
            switch reason {
            case .limit: core.fullAnswer
            case .address: core.crowdAnswer
            }
        _ = send(descriptor, answer, answer.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        _ = shutdown(descriptor, Int32(SHUT_WR))
        if core.lingering.take(descriptor, id: core.registry.newID()) { return }
        close(descriptor)
        core.registry.expectOneLess()
    }
}
