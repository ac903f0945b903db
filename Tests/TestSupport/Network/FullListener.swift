import Foundation

/// A port at which a connection attempt never completes: the listener accepts no connection and its backlog is full, so
/// the kernel drops every further attempt.
package final class FullListener: Sendable {
    /// The port.
    package let port: UInt16
    private let descriptors: [Int32]

    /// Listens and fills its own backlog. Throws ``SystemError`` when that is not possible.
    package init() throws {
        let (listening, port) = try Listener.listen(address: "127.0.0.1", backlog: 0)
        self.port = port
        var target = sockaddr_in(port: port, address: "127.0.0.1")
        let fillers = (0..<3).map { _ in
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = fcntl(filler, F_SETFD, FD_CLOEXEC)
            _ = withUnsafePointer(to: &target) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return filler
        }
        descriptors = fillers + [listening]
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
