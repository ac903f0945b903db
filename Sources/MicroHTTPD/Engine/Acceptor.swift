import CMicroHTTPD
import Foundation
import Primitives

/// Accepts connections on its own thread and passes them to the serving threads, because libmicrohttpd 0.9.75 cannot do
/// this well. `MHD_quiesce_daemon`, its only way to stop listening early, races with the threads over an epoll
/// registration, and can abort the process. A thread that finds its connection limit reached keeps a mutex for ever.
/// And each connection would go to the thread that calls `accept` first. Connections beyond a limit are accepted,
/// answered and closed here, so that clients, and health probes, learn the reason; their sockets linger. When too many
/// sockets linger, new clients wait in the kernel's queue.
final class Acceptor: Sendable {
    private let socket: ListeningSocket
    private let core: DaemonCore
    private let wake: WakeSignal
    private let threads: ServingThreads
    private let limit: Int

    init(socket: ListeningSocket, core: DaemonCore, threads: ServingThreads) throws {
        self.socket = socket
        self.core = core
        self.threads = threads
        limit = core.configuration.effectiveConnectionLimit
        guard let wake = WakeSignal() else { throw DaemonError.system(.start) }
        self.wake = wake
    }

    func stop() { wake.raise() }

    /// Accepts until ``stop()``, and then all connections that the kernel has completed, so that none is reset.
    func run() {
        while true {
            let isPaused = !canAccept
            var polled = [
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isPaused ? -1 : socket.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            // The end of a connection does not end this `poll`, so a paused loop checks the limits again after 20 ms.
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
                    // The socket stays readable. Without a pause the loop would spin until a descriptor is free.
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
        let client = IPAddress(address)?.unmapped
        let isFull = isFull
        core.registry.expect(1)
        if isFull { return refuse(descriptor, .limit) }
        guard core.registry.admit(client, limit: limit) else { return refuse(descriptor, .address) }
        guard !threads.add(descriptor, address, length) else { return }
        core.registry.leave(client, limit: limit)
        core.registry.expect(-1)
    }

    private func refuse(_ descriptor: Int32, _ reason: ConnectionRefusal) {
        core.configuration.refused(reason)
        let answer = reason == .limit ? core.fullAnswer : core.crowdAnswer
        _ = Connection.send(answer, to: descriptor)
        _ = shutdown(descriptor, Int32(SHUT_WR))
        if core.lingering.take(descriptor, id: core.registry.newID()) { return }
        close(descriptor)
        core.registry.expect(-1)
    }
}

/// A TCP socket that is bound and listens. Releasing the object closes the socket.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// Binds the first address of `host`. Throws ``DaemonError``.
    init(host: String, port: UInt16) throws {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0, let address = list?.pointee else {
            throw DaemonError(
                step: .resolve, code: code,
                reason: code == EAI_SYSTEM ? String(cString: strerror(errno)) : String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(list) }

        descriptor = socket(
            address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { throw DaemonError.system(.listen) }
        do {
            // Without this option, a restarted server could not bind the port while old connections are in TIME_WAIT.
            Self.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            if address.ai_family == AF_INET6 { Self.set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
            guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, 4096) == 0 else {
                throw DaemonError.system(.listen)
            }
            guard let port = SocketAddress.port(of: descriptor) else { throw DaemonError.system(.listen) }
            self.port = port
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    func stopListening() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
