import CCurl
import Glibc
import Primitives

/// An HTTP connection, and the number of response bytes that were read from it. Confined to a thread of the client. A
/// connection is reused only when no bytes are left behind its earlier responses, because libcurl would take such bytes
/// for the next response (RFC 9112 §6.3). libcurl drops such bytes when it reads them with the response, and still
/// keeps the connection. Bytes that arrive only after the next request was sent look like the response to it, so only
/// requests with the same credentials share a connection, and no response reaches another caller.
final class OriginConnection {
    private let descriptor: curl_socket_t
    private let localPort: UInt16
    private let isSecure: Bool
    /// The bytes of the heads and bodies of all responses, as far as libcurl delivered them.
    private var readCount: UInt64 = 0
    /// Whether the connection carries HTTP/2 streams, which have their own framing.
    var isMultiplexed = false
    /// The credentials on the connection; see ``Transfer/caller``.
    var caller: Int?

    init(_ descriptor: curl_socket_t, localPort: UInt16, isSecure: Bool) {
        self.descriptor = descriptor
        self.localPort = localPort
        self.isSecure = isSecure
    }

    func count(_ bytes: Int) { readCount += UInt64(bytes) }
    func carries(_ other: Int?) -> Bool { isMultiplexed || (other == caller && isClean) }

    /// Whether every received byte belongs to a read response. Without TLS, the kernel's count decides, which includes
    /// bytes that libcurl dropped. Over TLS, only waiting input is visible; a needless new connection costs little.
    var isClean: Bool {
        // Before the first response of a connection, only HTTP/2 streams can share it.
        if isMultiplexed || (isSecure && readCount == 0) { return true }
        guard isOpen else { return false }
        if !isSecure {
            let received = larder_tcp_received(descriptor)
            if received.is_known { return received.bytes == readCount }
        }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
    }

    /// Whether the descriptor still belongs to this connection.
    var isOpen: Bool { SocketAddress.port(of: descriptor) == localPort }
}

/// The HTTP connections of a loop, indexed by their two ends, because libcurl's callbacks report only the ends of a
/// reused connection. A closed connection stays until its ends are reused or the table is full. Confined to a thread.
final class OriginConnections {
    /// Several connections to different addresses can have the same local port.
    struct Ends: Hashable {
        let address: String
        let port: Int32
        let localPort: UInt16
    }

    private var connections: [Ends: OriginConnection] = [:]
    /// From this number on the table drops closed connections, which are then the majority.
    private static let limit = 4096

    /// Adds the connection that was opened over one of these sockets; returns `nil` when it is closed already.
    func opened(_ descriptors: [curl_socket_t], _ ends: Ends, isSecure: Bool) -> OriginConnection? {
        if connections.count >= Self.limit { connections = connections.filter(\.value.isOpen) }
        let descriptor = descriptors.last { SocketAddress.port(of: $0) == ends.localPort }
        let connection = descriptor.map { OriginConnection($0, localPort: ends.localPort, isSecure: isSecure) }
        connections[ends] = connection
        return connection
    }

    func connection(_ ends: Ends) -> OriginConnection? { connections[ends] }
}

/// The sockets of FTP connections. The client shuts them down before it ends, because libcurl sends `QUIT` on an idle
/// control connection and waits for the reply. Confined to a single thread of the client.
final class FTPSockets {
    private var open: Set<curl_socket_t> = []

    /// Ignores -1, the result of a failed `socket`.
    func insert(_ descriptor: curl_socket_t) {
        if descriptor >= 0 { open.insert(descriptor) }
    }

    func interrupt() {
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Makes the handle report the sockets that it closes. This object exists until libcurl has closed all connections.
    func track(_ handle: EasyHandle) {
        handle.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        larder_curl_setopt_closesocket(handle.pointer) { this, descriptor in
            Unmanaged<FTPSockets>.fromOpaque(this!).takeUnretainedValue().open.remove(descriptor)
            return close(descriptor)
        }
    }
}
