import Foundation

/// A port of 127.0.0.1 that refuses connections. It is bound, so that no other process gets it, but no socket listens.
/// (A stopped server has no claim on its port any more.)
package final class RefusingPort: Sendable {
    private let descriptor: Int32
    /// The port.
    package let number: UInt16

    /// Binds a free port. Throws ``SystemError``.
    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("socket") }
        var own = sockaddr_in(port: 0, address: "127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else {
            let error = SystemError("bind")
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: own.sin_port)
    }

    deinit {
        close(descriptor)
    }

    /// An absolute URL with this port; `path` starts with a slash.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> String {
        "http://\(host):\(number)\(path)"
    }
}
