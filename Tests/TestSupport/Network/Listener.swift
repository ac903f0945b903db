import Foundation
import Primitives

/// A listening TCP socket on loopback that gives every connection a thread of its own.
///
/// Invariant: ``stop()`` returns after the accepting thread has ended (or 5 seconds have passed) and every connection
/// was interrupted. A connection is in the table from before its thread starts until the thread ends.
package final class Listener: Sendable {
    private struct State {
        var isStopped = false
        var accepted = 0
        var connections: [Int: SocketStream] = [:]
    }

    /// The port that the system has chosen.
    package let port: UInt16
    /// Opens when ``stop()`` is called. A thread that waits for another event can wait for this gate, too.
    package let stopping = Gate("stop of the server")
    private let descriptor: Int32
    private let state = Locked(State())
    private let accepting = Gate("end of the accepting thread")

    /// Listens on a free port.
    ///
    /// - Parameters:
    ///   - backlog: the backlog of the listening socket.
    ///   - handler: runs on the connection's thread, with the connection's number (from 0). The connection is closed
    ///     when the handler returns.
    ///
    /// Throws ``SystemError`` when it cannot listen.
    package init(
        address: String = "127.0.0.1", backlog: Int32 = 1024,
        handler: @escaping @Sendable (SocketStream, Int) -> Void
    ) throws {
        let (descriptor, port) = try Self.listen(address: address, backlog: backlog)
        self.descriptor = descriptor
        self.port = port
        startThread { [self] in
            accept(handler)
            close(descriptor)
            accepting.open()
        }
    }

    /// A listening descriptor and its port.
    static func listen(address: String, backlog: Int32) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var own = sockaddr_in(port: 0, address: address)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && Foundation.listen(descriptor, backlog) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else {
            let error = SystemError("listen")
            close(descriptor)
            throw error
        }
        return (descriptor, UInt16(bigEndian: own.sin_port))
    }

    /// The number of connections accepted in all.
    package var acceptedCount: Int { state.withLock { $0.accepted } }

    /// The number of connections that are open now.
    package var openCount: Int { state.withLock { $0.connections.count } }

    /// Stops listening and ends every connection.
    package func stop() {
        let connections = state.withLock { state -> [SocketStream]? in
            if state.isStopped { return nil }
            state.isStopped = true
            return Array(state.connections.values)
        }
        guard let connections else { return }
        stopping.open()
        shutdown(descriptor, Int32(SHUT_RDWR))
        for connection in connections { connection.interrupt() }
        try? accepting.waitBlocking(limit: .seconds(5))
    }

    private func accept(_ handler: @escaping @Sendable (SocketStream, Int) -> Void) {
        while true {
            let connected = Foundation.accept(descriptor, nil, nil)
            if connected < 0 {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE:
                    // No event tells that a descriptor is free again, and the listening socket stays readable. So the
                    // thread tries again after 1 ms.
                    if (try? stopping.waitBlocking(limit: .milliseconds(1))) != nil { return }
                    continue
                default: return
                }
            }
            _ = fcntl(connected, F_SETFD, FD_CLOEXEC)
            let stream = SocketStream(descriptor: connected)
            let number = state.withLock { state -> Int? in
                if state.isStopped { return nil }
                defer { state.accepted += 1 }
                state.connections[state.accepted] = stream
                return state.accepted
            }
            guard let number else { return }
            startThread { [self] in
                handler(stream, number)
                stream.close()
                state.withLock { _ = $0.connections.removeValue(forKey: number) }
            }
        }
    }
}
