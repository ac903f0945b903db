import CCurl
import Glibc

/// The sockets of connections over which answers come without TLS, by their ends: of a connection that is used again
/// libcurl's callbacks tell no more than that. Confined to one of the client's threads.
///
/// One that was closed stays in here until another has the same ends; so nothing is said of a socket before its port is
/// looked at.
final class ConnectionSockets {
    /// The two ends of a connection. A local port alone may be that of several, to different places.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: Int32
    }

    private var sockets: [Ends: curl_socket_t] = [:]
    /// Of so many most are closed.
    private static let limit = 4096

    /// A connection was opened over one of these sockets.
    func opened(_ descriptors: [curl_socket_t], _ ends: Ends) {
        if sockets.count >= Self.limit { sockets = sockets.filter { Self.isOpen($1, $0) } }
        sockets[ends] = descriptors.last { Self.isOpen($0, ends) }
    }

    /// Whether something has come on a connection by which nothing was asked for; its end is not meant.
    func hasInput(_ ends: Ends) -> Bool {
        guard let descriptor = sockets[ends], Self.isOpen(descriptor, ends) else { return false }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    private static func isOpen(_ descriptor: curl_socket_t, _ ends: Ends) -> Bool {
        port(of: descriptor).map(Int32.init) == ends.localPort
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
