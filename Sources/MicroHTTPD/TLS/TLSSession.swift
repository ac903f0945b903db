import CMicroHTTPD

/// The TLS of a connection, as far as libmicrohttpd does not handle it. libmicrohttpd performs the handshake, encrypts
/// and decrypts. It sends no alert to a client whose handshake fails, and resumes no session: each connection performs
/// a whole handshake, in which its client's certificate is checked.
///
/// A session belongs to the connection's thread. GnuTLS's session ends before the connection is reported closed: after
/// that only the credentials are left.
final class TLSSession {
    /// A GnuTLS priority string: TLS 1.2 and 1.3, forward secrecy, authenticated encryption, and for clients'
    /// certificates keys at least as strong as RSA with 2048 bits. Session tickets are disabled, because a client could
    /// resume a session by a ticket after its certificate has expired or its authority has lost its trust.
    static let priorities: StaticString = """
        NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA\
        :-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD\
        :%SERVER_PRECEDENCE:%NO_TICKETS:%PROFILE_MEDIUM
        """

    private let credentials: TLSCredentials
    private let handle: OpaquePointer
    /// Gets GnuTLS's words when the client's certificate is refused.
    fileprivate let refused: (String) -> Void

    /// Made before the handshake; `nil` without TLS. If the credentials cannot be set, the handshake fails. The
    /// connection retains the session until it is reported closed, which is after the handshake.
    init?(of connection: OpaquePointer, credentials: TLSCredentials, refused: @escaping (String) -> Void) {
        guard let handle = cmhd_tls_session(connection) else { return nil }
        self.credentials = credentials
        self.handle = handle
        self.refused = refused
        _ = cmhd_tls_use(
            handle, credentials.handle, credentials.asksClients, verifyClient,
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Sends bytes past libmicrohttpd, like ``Connection/sendWhole(_:)``, on the connection's thread only.
    func send(_ bytes: [UInt8]) -> Bool {
        cmhd_tls_send(handle, bytes, bytes.count)
    }
}

extension StaticString {
    var cString: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// 0 continues the handshake; any other value ends it, and the connection. Bytes before the end of the handshake are
/// not a request, so no client is served before its certificate was checked.
private func verifyClient(_ session: OpaquePointer?) -> Int32 {
    guard let session, let context = gnutls_session_get_ptr(session) else { return GNUTLS_E_CERTIFICATE_ERROR }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { reason in
        if cmhd_tls_verify_client(session, reason.baseAddress, reason.count) { return 0 }
        let words = reason.baseAddress.map { String(cString: $0) } ?? ""
        Unmanaged<TLSSession>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.refused(words) }
        return GNUTLS_E_CERTIFICATE_ERROR
    }
}
