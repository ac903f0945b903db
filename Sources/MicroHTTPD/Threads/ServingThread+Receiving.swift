import CMicroHTTPD
import Foundation

// libmicrohttpd receives requests through `Connection.read(into:by:)`, because the parts of a request that
// libmicrohttpd shows afterwards hide some of its bytes.

/// The process's `recv`, in front of the C library's, because libmicrohttpd reads sockets with `recv`. For other
/// callers, and for the encrypted bytes that GnuTLS reads on behalf of libmicrohttpd, it behaves like the C library's.
@c(recv) @usableFromInline
func receiveFromSocket(
    _ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int, _ flags: Int32
) -> Int {
    guard flags == 0, let target, let connection = ServingThread.current?.connection(of: descriptor) else {
        return cmhd_receive(descriptor, target, count, flags)
    }
    return connection._withUnsafeGuaranteedRef { connection in
        if connection.isSecure { return cmhd_receive(descriptor, target, count, flags) }
        guard let count = connection.read(into: target, by: { cmhd_receive(descriptor, target, count, flags) }) else {
            errno = ECONNRESET
            return -1
        }
        return count
    }
}

/// The process's `gnutls_record_recv`, in front of GnuTLS's. It does for connections with TLS the same as `recv` for
/// plain connections.
@c(gnutls_record_recv) @usableFromInline
func receiveFromSession(_ session: OpaquePointer?, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    guard let receive = gnutlsReceive else { return Int(GNUTLS_E_INTERNAL_ERROR) }
    guard let session, let target,
        let connection = ServingThread.current?.connection(of: cmhd_tls_descriptor(session))
    else { return receive(session, target, count) }
    return connection._withUnsafeGuaranteedRef { connection in
        connection.read(into: target, by: { receive(session, target, count) }) ?? Int(GNUTLS_E_PREMATURE_TERMINATION)
    }
}

/// GnuTLS's own `gnutls_record_recv`.
private let gnutlsReceive = cmhd_tls_receive()

extension ServingThread {
    /// Whether a library that looks up `recv` and `gnutls_record_recv` finds the functions of this file.
    static var receivesInFront: Bool {
        let socket: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int32) -> Int = receiveFromSocket
        let session: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int) -> Int = receiveFromSession
        return dlsym(nil, "recv") == unsafeBitCast(socket, to: UnsafeMutableRawPointer.self)
            && dlsym(nil, "gnutls_record_recv") == unsafeBitCast(session, to: UnsafeMutableRawPointer.self)
    }
}
