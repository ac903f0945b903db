import CCurl
import Glibc

/// One HTTP connection of a loop, and how many bytes of its answers have been read.
///
/// A connection is used again only when nothing is left of the answers before: bytes behind the end of an answer would
/// be taken for the answer to the next request, which may be another caller's (RFC 9112 §6.3). libcurl drops such bytes
/// when they come in one read with the answer, keeps the connection, and does not look for more of them.
///
/// Bytes that come only when the next request has gone out cannot be told from its answer. Nor can, from then on, each
/// answer from the one before it. So a connection that has carried credentials carries only the same ones: an answer
/// that was made for one caller does not reach another.
///
/// Confined to one of the client's threads.
final class OriginConnection {
    private let descriptor: curl_socket_t
    private let localPort: Int32
    private let isSecure: Bool
    /// The bytes of heads and bodies that libcurl handed over, of all answers.
    private var readCount: UInt64 = 0
    /// Whether the connection carries streams of HTTP/2, which have a framing of their own.
    var isMultiplexed = false
    /// The credentials that the connection carries; see ``Transfer/caller``.
    var caller: Int?

    init(_ descriptor: curl_socket_t, localPort: Int32, isSecure: Bool) {
        self.descriptor = descriptor
        self.localPort = localPort
        self.isSecure = isSecure
    }

    /// Bytes of an answer were read.
    func count(_ bytes: Int) {
        readCount += UInt64(bytes)
    }

    /// Whether a request with these credentials may go out over the connection, which was used before.
    func carries(_ other: Int?) -> Bool { isMultiplexed || (other == caller && isClean) }

    /// Whether every byte that came belongs to an answer that was read.
    ///
    /// Without TLS the kernel's count of received bytes tells, which includes bytes that libcurl dropped. Over TLS only
    /// input that waits can be seen; it may be no answer, but a new connection costs less than a doubt.
    var isClean: Bool {
        // Only streams of HTTP/2 begin before the first answer of a connection.
        if isMultiplexed || (isSecure && readCount == 0) { return true }
        guard isOpen else { return false }
        if !isSecure, let received = larder_tcp_received(descriptor).count { return received == readCount }
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
    }

    /// Whether the descriptor is still that of this connection.
    var isOpen: Bool { Self.localPort(of: descriptor) == localPort }

    /// The port of this end of a socket; `nil` when the descriptor is none.
    static func localPort(of descriptor: curl_socket_t) -> Int32? {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &name) { bytes in
            let address = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard getsockname(descriptor, address, &length) == 0 else { return nil }
            // sin_port and sin6_port are at the same place.
            return Int32(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}

extension larder_tcp_count {
    /// The number of bytes; `nil` when the kernel does not tell.
    fileprivate var count: UInt64? { is_known ? bytes : nil }
}
