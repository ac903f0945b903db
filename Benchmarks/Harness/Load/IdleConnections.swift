import Foundation

/// Connections that send a single request and then stay open.
final class IdleConnections {
    private(set) var descriptors: [Int32] = []

    /// Opens `count` connections. Each connection requests `target` once and waits for the answer.
    init(_ count: Int, to server: Server, target: String) throws {
        let request = Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n\r\n".utf8)
        var answer = [UInt8](repeating: 0, count: 64 << 10)
        do {
            for number in 0..<count {
                let descriptor = try HTTPConnection.open(port: server.port)
                descriptors.append(descriptor)
                var limit = timeval(tv_sec: 5, tv_usec: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                // The answer is small. It arrives in one piece, or in two pieces if head and body are sent separately.
                guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count,
                    recv(descriptor, &answer, answer.count, 0) > 0
                else { throw BenchmarkError("\(server.name) did not answer connection \(number + 1) of \(count)") }
            }
        } catch {
            closeAll()
            throw error
        }
    }

    deinit {
        closeAll()
    }

    /// The number of connections that the server has not closed.
    var openCount: Int {
        var byte: UInt8 = 0
        return descriptors.count { descriptor in
            recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) != 0
        }
    }

    /// Closes the connections by a reset. A connection that is closed in order keeps its port for a minute, and the
    /// next connections need as many ports.
    func closeAll() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        for descriptor in descriptors {
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
            close(descriptor)
        }
        descriptors = []
    }
}
