import CMicroHTTPD
import Foundation
import Primitives

/// Sockets that the server has answered and closed for sending, while their clients may still be sending. The watcher's
/// thread discards incoming bytes until the client closes its side. After an immediate close the kernel would answer
/// further bytes with a reset, and the client could lose the answer (RFC 9112 §9.6). The time limits equal nginx's
/// (`lingering_time`, `lingering_timeout`). The number of bytes has no limit, so a client that sends its whole request
/// sees the answer. These sockets count neither towards the limit per address nor as served connections, but have a
/// limit of their own.
///
/// Invariants: the lock guards the table. Every descriptor in the table is open; the code that removes it closes it.
final class LingeringSockets: Sendable {
    private struct Socket {
        let descriptor: Int32
        let end: Int64
        var silenceEnd: Int64
    }

    /// The longest time from the answer until the close, and the longest silence of the client, in milliseconds.
    private static let timeLimit: Int64 = 30_000
    private static let silenceLimit: Int64 = 5000

    private let table = Locked<[UInt64: Socket]>([:])
    private let watch: SocketWatch
    private let registry: ConnectionRegistry
    private let countLimit: Int
    private let now: @Sendable () -> Int64

    init(watch: SocketWatch, registry: ConnectionRegistry, limit: Int, now: @escaping @Sendable () -> Int64) {
        self.watch = watch
        self.registry = registry
        countLimit = limit
        self.now = now
    }

    var hasRoom: Bool { registry.lingeringCount < countLimit }

    /// Takes a duplicate of the descriptor that libmicrohttpd is about to close. Returns false, without effect, at the
    /// limit, or if the kernel cannot duplicate or watch the socket.
    func add(_ descriptor: Int32, id: UInt64) -> Bool {
        guard hasRoom else { return false }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return false }
        watch.remove(descriptor)
        if take(copy, id: id) { return true }
        close(copy)
        return false
    }

    /// Takes over the descriptor itself. False, without effect, at the limit, or if the kernel cannot watch the socket.
    func take(_ descriptor: Int32, id: UInt64) -> Bool {
        guard registry.beginLingering(limit: countLimit) else { return false }
        let now = self.now()
        table.withLock {
            $0[id] = Socket(descriptor: descriptor, end: now + Self.timeLimit, silenceEnd: now + Self.silenceLimit)
        }
        if watch.addForReading(descriptor, id: id) { return true }
        // The time limit may have passed already. In this case `closeOverdue` has removed and closed the socket.
        guard table.withLock({ $0.removeValue(forKey: id) }) != nil else { return true }
        registry.endLingering()
        registry.expect(1)
        return false
    }

    /// Discards incoming bytes. Closes the socket when the client has closed its side. Called on the watcher's thread.
    func drain(_ id: UInt64) {
        guard let descriptor = table.withLock({ $0[id]?.descriptor }) else { return }
        // With MSG_TRUNC the kernel copies no bytes. Only one read per event, so that other sockets do not wait long.
        let count = recv(descriptor, nil, 1 << 20, Int32(MSG_TRUNC | MSG_DONTWAIT))
        if count > 0 {
            let silenceEnd = now() + Self.silenceLimit
            table.withLock { $0[id]?.silenceEnd = silenceEnd }
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            end([id])
        }
    }

    /// Called on the watcher's thread.
    func closeOverdue(now: Int64) {
        end(table.withLock { $0.filter { min($0.value.end, $0.value.silenceEnd) < now }.map(\.key) })
    }

    var isEmpty: Bool { table.withLock { $0.isEmpty } }

    /// Called after the watcher's thread has ended.
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
