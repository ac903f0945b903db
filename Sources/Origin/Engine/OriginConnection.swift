import CCurl
import Glibc

/// An HTTP connection of a loop, and the number of response bytes that were read from it.
///
/// A connection is reused only when no bytes are left behind its earlier responses, because libcurl would take such
/// bytes for the response to the next request, which may belong to another caller (RFC 9112 §6.3). libcurl drops such
/// bytes when it reads them together with the response; it then keeps the connection and does not look for more of
/// them.
///
/// Bytes that arrive only after the next request was sent look like the response to it. From then on, each response can
/// be the response to the request before. Requests with credentials therefore share a connection only with requests
/// that have the same credentials, so that a response for a caller does not reach another caller.
///
/// Confined to a single thread of the client.
final class OriginConnection {
    private let descriptor: curl_socket_t
    private let localPort: Int32
    private let isSecure: Bool
    /// The number of bytes in the heads and bodies of all responses, as far as libcurl delivered them.
    private var readCount: UInt64 = 0
    /// Whether the connection carries HTTP/2 streams, which have their own framing.
    var isMultiplexed = false
    /// The credentials on the connection; see ``Transfer/caller``.
    var caller: Int?

    init(_ descriptor: curl_socket_t, localPort: Int32, isSecure: Bool) {
        self.descriptor = descriptor
        self.localPort = localPort
        self.isSecure = isSecure
    }

    /// Counts bytes of a response.
    func count(_ bytes: Int) {
        readCount += UInt64(bytes)
    }

    /// Whether a request with these credentials may reuse the connection: always over HTTP/2; otherwise only with the
    /// same credentials, and when ``isClean`` is `true`.
    func carries(_ other: Int?) -> Bool { isMultiplexed || (other == caller && isClean) }

    /// Whether every received byte belongs to a response that was read.
    ///
    /// Without TLS, the kernel's count of received bytes decides; it includes bytes that libcurl dropped. Over TLS,
    /// only waiting input is visible. Such input is not always a response, but a new connection costs less than the
    /// risk of a wrong response.
    var isClean: Bool {
        // Before the first response of a connection, only HTTP/2 streams can share it.
        if isMultiplexed || (isSecure && readCount == 0) { return true }
        guard isOpen else { return false }
        if !isSecure, let received = larder_tcp_received(descriptor).count { return received == readCount }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
    }

    /// Whether the descriptor still belongs to this connection.
    var isOpen: Bool { Self.localPort(of: descriptor) == localPort }

    /// The local port of a socket; `nil` when the descriptor is not a socket.
    static func localPort(of descriptor: curl_socket_t) -> Int32? {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &name) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, address, &length) == 0 else { return nil }
            // sin_port and sin6_port have the same offset.
            return Int32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}

extension larder_tcp_count {
    /// The number of bytes; `nil` when the kernel does not report it.
    fileprivate var count: UInt64? { is_known ? bytes : nil }
}
