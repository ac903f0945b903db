import CMicroHTTPD
import Foundation

/// Accepts connections on a thread of its own and hands them to libmicrohttpd's threads.
///
/// libmicrohttpd could listen by itself, but three things in 0.9.75 forbid it. `MHD_quiesce_daemon`, the only way to
/// stop listening before stopping, races with the threads of a daemon over one epoll registration and aborts the
/// process when it loses. A thread that finds the library's own connection limit reached keeps a mutex for ever; so the
/// limit is kept here. And a connection would come to the thread whose `accept` is first.
///
/// Beyond the limit clients are accepted, answered and closed, so that they know, and so does a probe; their sockets
/// linger, in a reserve. Only when that is full nothing is accepted, and clients wait in the kernel's queue.
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
        wake = try WakeSignal()
    }

    /// Makes ``run()`` return.
    func stop() {
        wake.raise()
    }

    /// Accepts until ``stop()``, and then whatever the kernel has completed by then, so that no client that connected
    /// in time is reset.
    func run() {
        while true {
            let isPaused = !canAccept
            var polled = [
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isPaused ? -1 : socket.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            // There is no event to wait for: look again soon.
            _ = poll(&polled, 2, isPaused ? 20 : -1)
            let isStopping = polled[0].revents != 0
            if isStopping || polled[1].revents != 0 { acceptAll() }
            if isStopping { return }
        }
    }

    /// Whether there is room for one more, or room to refuse it.
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
                    // The socket stays readable: without a pause this would spin until a descriptor is free.
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

    /// Answers a client that there is no connection for, and lets it read that.
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
