import CMicroHTTPD
import Foundation
import Primitives

/// Sockets that were answered and closed for sending while their clients may still be sending: what comes is thrown
/// away until the client closes, too. Closing such a socket at once makes the kernel answer the next bytes with a
/// reset, which can cost the client the answer (RFC 9112 §9.6).
///
/// The limits are those of nginx (`lingering_time`, `lingering_timeout`): there is none for the bytes, because throwing
/// them away costs next to nothing, while a client is only sure to see its answer when it could send all that it
/// wanted. A socket is not one of its client's address meanwhile, and takes no place of a connection that is served: it
/// takes one of a reserve, and there is a limit for their number.
///
/// Invariants: the lock guards the table. A descriptor in it is open, and whoever takes it out closes it.
final class LingeringSockets: Sendable {
    private struct Socket {
        let descriptor: Int32
        let end: Int64
        var silenceEnd: Int64
    }

    /// How long a client may go on sending, in milliseconds.
    private static let timeLimit: Int64 = 30_000
    /// How long it may send nothing.
    private static let silenceLimit: Int64 = 5000

    private let table = Locked<[UInt64: Socket]>([:])
    private let watch: SocketWatch
    private let registry: ConnectionRegistry
    private let countLimit: Int
    /// ``Daemon/Configuration/now``.
    private let now: @Sendable () -> Int64

    /// - Parameter limit: how many there may be.
    init(watch: SocketWatch, registry: ConnectionRegistry, limit: Int, now: @escaping @Sendable () -> Int64) {
        self.watch = watch
        self.registry = registry
        countLimit = limit
        self.now = now
    }

    /// Whether there are fewer than there may be.
    var hasRoom: Bool { registry.lingeringCount < countLimit }

    /// Keeps the socket of a connection that libmicrohttpd is about to close, through a descriptor of its own. False
    /// when that cannot be had, or there are as many as there may be.
    func add(_ descriptor: Int32, id: UInt64) -> Bool {
        guard hasRoom else { return false }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return false }
        watch.remove(descriptor)
        if take(copy, id: id) { return true }
        close(copy)
        return false
    }

    /// Takes over a socket itself, which needs no other descriptor. False, and nothing done, when there are as many as
    /// there may be, or the kernel has no room to watch it.
    func take(_ descriptor: Int32, id: UInt64) -> Bool {
        guard registry.beginLingering(limit: countLimit) else { return false }
        let now = self.now()
        table.withLock {
            $0[id] = Socket(descriptor: descriptor, end: now + Self.timeLimit, silenceEnd: now + Self.silenceLimit)
        }
        if watch.addForReading(descriptor, id: id) { return true }
        // Its time may be over already, and somebody else closes it.
        guard table.withLock({ $0.removeValue(forKey: id) }) != nil else { return true }
        registry.endLingering()
        registry.expectOne()
        return false
    }

    /// Reads what came, and closes the socket at its end. On the watcher's thread.
    func drain(_ id: UInt64) {
        guard let descriptor = table.withLock({ $0[id]?.descriptor }) else { return }
        // With MSG_TRUNC the kernel copies nothing. Once an event, so that others have their turn.
        let count = recv(descriptor, nil, 1 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT))
        if count > 0 {
            let silenceEnd = now() + Self.silenceLimit
            table.withLock { $0[id]?.silenceEnd = silenceEnd }
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end([id])
        }
    }

    /// Closes those that have lingered long enough. On the watcher's thread.
    func closeOverdue(now: Int64) {
        end(table.withLock { $0.filter { min($0.value.end, $0.value.silenceEnd) < now }.map(\.key) })
    }

    /// Whether there are none.
    var isEmpty: Bool {
        table.withLock { $0.isEmpty }
    }

    /// Closes all of them; the watcher's thread has ended.
    func closeAll() {
        end(table.withLock { Array($0.keys) })
    }

    private func end(_ ids: [UInt64]) {
        for id in ids {
            guard let socket = table.withLock({ $0.removeValue(forKey: id) }) else { continue }
            close(socket.descriptor)
            registry.endLingering()
        }
    }
}
