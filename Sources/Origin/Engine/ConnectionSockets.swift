import CCurl
import Glibc

/// The sockets of connections over which answers come without TLS, by their local port: of a connection that is used
/// again libcurl's callbacks tell no more than that. Confined to one of the client's threads.
///
/// One that was closed stays in here until its port has another; so nothing is said of a socket before its port is
/// looked at.
final class ConnectionSockets {
    private var byPort: [UInt16: curl_socket_t] = [:]

    /// A connection was opened over one of these sockets.
    func opened(_ descriptors: [curl_socket_t], localPort: Int32) {
        guard let port = UInt16(exactly: localPort) else { return }
        byPort[port] = descriptors.last { Self.port(of: $0) == port }
    }

    /// Whether something has come on a connection by which nothing was asked for; its end is not meant.
    func hasInput(localPort: Int32) -> Bool {
        guard let port = UInt16(exactly: localPort), let descriptor = byPort[port], Self.port(of: descriptor) == port
        else { return false }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    private static func port(of descriptor: curl_socket_t) -> UInt16? {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &name) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, address, &length) == 0 else { return nil }
            // sin_port and sin6_port are at the same place.
            return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }
}
