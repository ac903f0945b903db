import Foundation

/// A running server.
struct Server {
    /// The name of the server in the results.
    let name: String
    let port: UInt16
    let process: ServerProcess

    /// Opens a connection to the server.
    func connect() throws -> HTTPConnection {
        try HTTPConnection(port: port)
    }

    /// Waits until the server answers `GET target` with 200, for at most 30 seconds.
    func waitUntilReady(_ target: String) throws {
        let end = Date().addingTimeInterval(30)
        var last = "no answer"
        while Date() < end {
            guard process.isRunning else { break }
            do {
                let answer = try connect().get(target)
                if answer.status == 200 { return }
                last = "status \(answer.status)"
            } catch {
                last = "\(error)"
            }
            usleep(5000)
        }
        throw BenchmarkError("\(name) did not start (\(last))\n\(process.lastWords)")
    }
}

/// The reason why a benchmark cannot continue.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A port of 127.0.0.1 on which no process listens.
func unusedPort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw BenchmarkError("socket: \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var address = loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
        }
    }
    guard result else { throw BenchmarkError("bind: \(String(cString: strerror(errno)))") }
    return UInt16(bigEndian: address.sin_port)
}

/// The socket address of 127.0.0.1 and `port`.
func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}
