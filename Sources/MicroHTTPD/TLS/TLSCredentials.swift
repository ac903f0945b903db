import CMicroHTTPD
import Primitives

/// A daemon's certificate with its key, and the authorities that may sign the clients' certificates. A connection
/// retains the credentials that it began with, because GnuTLS reads them without keeping them alive. `@unchecked
/// Sendable` is safe because GnuTLS only reads complete credentials, from any number of threads.
package final class TLSCredentials: @unchecked Sendable {
    /// The daemon uses the certificate outside of these dates, too. Clients then refuse it, so warn the operator.
    package let notBefore: Timestamp
    package let notAfter: Timestamp
    /// In lower-case hexadecimal.
    package let serialNumber: String
    let asksClients: Bool
    let handle: OpaquePointer

    /// All texts are PEM. The server's `certificate` precedes the intermediate certificates. `key` has no passphrase.
    /// One of `clientAuthorities` must have signed, directly or not, the certificate of each client; `nil`: clients are
    /// not asked for a certificate.
    package init(
        certificate: [UInt8], key: [UInt8], clientAuthorities: [UInt8]? = nil
    ) throws(TLSCredentialsError) {
        guard let handle = cmhd_tls_new() else {
            throw TLSCredentialsError(part: .certificate, code: GNUTLS_E_MEMORY_ERROR)
        }
        do throws(TLSCredentialsError) {
            try Self.fill(handle, certificate, key, clientAuthorities)
            var facts = cmhd_certificate()
            guard cmhd_tls_describe(handle, &facts) else {
                throw TLSCredentialsError(part: .certificate, code: GNUTLS_E_CERTIFICATE_ERROR)
            }
            notBefore = Timestamp(seconds: facts.not_before)
            notAfter = Timestamp(seconds: facts.not_after)
            // A serial number may start with a zero byte, which shows that the number is positive.
            serialNumber = withUnsafeBytes(of: facts.serial) { bytes in
                bytes.prefix(facts.serial_count).drop { $0 == 0 }.hex
            }
        } catch {
            gnutls_certificate_free_credentials(handle)
            throw error
        }
        asksClients = clientAuthorities != nil
        self.handle = handle
    }

    deinit {
        gnutls_certificate_free_credentials(handle)
    }

    private static func fill(
        _ handle: OpaquePointer, _ certificate: [UInt8], _ key: [UInt8], _ clientAuthorities: [UInt8]?
    ) throws(TLSCredentialsError) {
        // Each part is checked separately first, so that the error names the broken part.
        try check(.certificate, cmhd_tls_check_certificates(certificate, certificate.count))
        try check(.key, cmhd_tls_check_key(key, key.count))
        let code = cmhd_tls_set_certificate(handle, certificate, certificate.count, key, key.count)
        try check(code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? .pair : .certificate, code)
        guard let clientAuthorities else { return }
        try check(.clientAuthorities, cmhd_tls_check_certificates(clientAuthorities, clientAuthorities.count))
        try check(
            .clientAuthorities, cmhd_tls_set_authorities(handle, clientAuthorities, clientAuthorities.count))
    }

    private static func check(_ part: TLSCredentialsError.Part, _ code: Int32) throws(TLSCredentialsError) {
        if code < 0 { throw TLSCredentialsError(part: part, code: code) }
    }
}

package struct TLSCredentialsError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Part: Hashable, Sendable {
        /// The certificate is missing or unreadable.
        case certificate
        /// The key is missing, or cannot be read without a passphrase.
        case key
        /// The key does not belong to the certificate.
        case pair
        /// The authorities are missing, or at least one of them is unreadable.
        case clientAuthorities
    }

    package let part: Part
    package let code: Int32
    package var reason: String { gnutls_strerror(code).map { String(cString: $0) } ?? "unknown" }
    package var description: String { "\(part): \(reason) (\(code))" }
}

/// The credentials for new connections. This object exists before the start, so a change before the start has effect.
final class CurrentCredentials: Sendable {
    private let current: Locked<TLSCredentials>

    init(_ credentials: TLSCredentials) {
        current = Locked(credentials)
    }

    var credentials: TLSCredentials { current.withLock { $0 } }

    func use(_ credentials: TLSCredentials) {
        current.withLock { $0 = credentials }
    }
}

/// The TLS session of a connection, for two tasks that libmicrohttpd does not have: it checks the client's certificate
/// in each handshake, as no session is resumed, and sends bytes past libmicrohttpd. A refused client gets no alert.
/// Only the connection's thread uses a session. GnuTLS's session ends before the connection is reported closed.
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
    /// Called with GnuTLS's description when the client's certificate is refused.
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

    /// Sends bytes past libmicrohttpd, like ``Connection/sendWhole(_:)``. Called on the connection's thread only.
    func send(_ bytes: [UInt8]) -> Bool {
        cmhd_tls_send(handle, bytes, bytes.count)
    }
}

extension StaticString {
    var cString: UnsafePointer<CChar> { UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self) }
}

/// Returns 0 to continue the handshake; any other value ends the handshake and the connection. A request can only
/// follow the handshake, so no client is served before its certificate was checked.
private func verifyClient(_ session: OpaquePointer?) -> Int32 {
    guard let session, let context = gnutls_session_get_ptr(session) else { return GNUTLS_E_CERTIFICATE_ERROR }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { reason in
        if cmhd_tls_verify_client(session, reason.baseAddress, reason.count) { return 0 }
        let words = reason.baseAddress.map { String(cString: $0) } ?? ""
        Unmanaged<TLSSession>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.refused(words) }
        return GNUTLS_E_CERTIFICATE_ERROR
    }
}
