import CMicroHTTPD

/// The TLS of one connection, as far as it is not libmicrohttpd's.
///
/// libmicrohttpd makes the handshake, encrypts and decrypts. It says nothing to a client whose handshake fails, and
/// resumes no session: each connection makes a whole handshake, in which its client's certificate is looked at.
///
/// It belongs to the connection's thread. GnuTLS's session ends before the connection is reported closed: after that
/// only the credentials are left.
struct TLSSession {
    /// What is spoken, as GnuTLS's priority strings say it: TLS 1.2 and 1.3, forward secrecy, ciphers that authenticate
    /// what they encrypt, and of clients' certificates keys of 2048 bits of RSA or as good.
    ///
    /// No tickets: nobody goes on by one whose certificate has expired, or whose authority is not good any more.
    static let priorities: StaticString = """
        NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA\
        :-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD\
        :%SERVER_PRECEDENCE:%NO_TICKETS:%PROFILE_MEDIUM
        """

    /// Held for as long as GnuTLS may look at them.
    private let credentials: TLSCredentials
    private let handle: OpaquePointer

    /// The session of a connection that is about to make its handshake; `nil` without TLS.
    init?(of connection: OpaquePointer, credentials: TLSCredentials?) {
        guard let credentials, let handle = cmhd_tls_session(connection) else { return nil }
        self.credentials = credentials
        self.handle = handle
    }

    /// Has the handshake made with the credentials. Should it not be possible, the handshake fails.
    func begin(on connection: Connection) {
        // The connection outlives the handshake: it is let go of when it is reported closed.
        _ = cmhd_tls_use(
            handle, credentials.handle, credentials.asksClients, verifyClient,
            Unmanaged.passUnretained(connection).toOpaque())
    }

    /// Sends bytes past libmicrohttpd; as ``Connection/sendWhole(_:)``, and on the connection's thread only.
    func send(_ bytes: [UInt8]) -> Bool {
        cmhd_tls_send(handle, bytes, bytes.count)
    }
}

extension StaticString {
    /// As C takes it, with a zero at its end.
    var cString: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// A client has shown its certificate: 0 goes on with the handshake, anything else ends it, and the connection. What
/// comes before the end of the handshake is no request yet, so nobody is served whose certificate was not looked at.
private func verifyClient(_ session: OpaquePointer?) -> Int32 {
    guard let session, let context = gnutls_session_get_ptr(session) else { return GNUTLS_E_CERTIFICATE_ERROR }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { reason in
        if cmhd_tls_verify_client(session, reason.baseAddress, reason.count) { return 0 }
        let words = reason.baseAddress.map { String(cString: $0) } ?? ""
        Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef { connection in
            connection.core.configuration.log(
                "the client certificate of \(connection.remoteAddress.text) is refused: \(words)")
        }
        return GNUTLS_E_CERTIFICATE_ERROR
    }
}
