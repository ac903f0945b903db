import CMicroHTTPD
import Primitives

/// What a daemon shows its clients over TLS, and what it asks of them: a certificate with its key, and the authorities
/// that must have signed clients' own certificates. They never change; ``Daemon/use(_:)`` gives a daemon others.
///
/// A connection holds those that it began with, because GnuTLS looks at them without keeping them alive.
///
/// `@unchecked Sendable` is safe: once they are made GnuTLS only reads them, from any number of threads.
public final class TLSCredentials: @unchecked Sendable {
    /// From when on the certificate is good. It is shown before then, too: clients refuse it, and the operator should
    /// be told.
    public let notBefore: Timestamp
    /// Until when the certificate is good; see ``notBefore``.
    public let notAfter: Timestamp
    /// The number that its authority gave the certificate, in lower-case hexadecimal.
    public let serialNumber: String
    /// Whether a client must show a certificate, on each connection.
    let asksClients: Bool
    /// GnuTLS's object.
    let handle: OpaquePointer

    /// Reads credentials; everything is PEM. Throws ``TLSCredentialsError``.
    ///
    /// - Parameters:
    ///   - certificate: the server's, and behind it those that lead to an authority that clients know.
    ///   - key: the private key of the first of them, without a passphrase.
    ///   - clientAuthorities: one of them must have signed, directly or not, the certificate that a client has to show;
    ///     `nil`, the default: none is asked for.
    public init(
        certificate: [UInt8], key: [UInt8], clientAuthorities: [UInt8]? = nil
    ) throws(TLSCredentialsError) {
        guard let handle = cmhd_tls_new() else {
            throw TLSCredentialsError(part: .certificate, code: GNUTLS_E_MEMORY_ERROR)
        }
        do throws(TLSCredentialsError) {
            try Self.fill(handle, certificate, key, clientAuthorities)
            let facts = try Self.facts(of: handle)
            notBefore = Timestamp(seconds: facts.not_before)
            notAfter = Timestamp(seconds: facts.not_after)
            // A zero may be in front for the sign.
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
        // One by one first, so that it can be said which of them is wrong.
        try check(.certificate, cmhd_tls_check_certificates(certificate, certificate.count))
        try check(.key, cmhd_tls_check_key(key, key.count))
        let code = cmhd_tls_set_certificate(handle, certificate, certificate.count, key, key.count)
        try check(code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? .pair : .certificate, code)
        guard let clientAuthorities else { return }
        try check(.clientAuthorities, cmhd_tls_check_certificates(clientAuthorities, clientAuthorities.count))
        try check(
            .clientAuthorities, cmhd_tls_set_authorities(handle, clientAuthorities, clientAuthorities.count))
    }

    private static func facts(of handle: OpaquePointer) throws(TLSCredentialsError) -> cmhd_certificate {
        var facts = cmhd_certificate()
        guard cmhd_tls_describe(handle, &facts) else {
            throw TLSCredentialsError(part: .certificate, code: GNUTLS_E_CERTIFICATE_ERROR)
        }
        return facts
    }

    private static func check(_ part: TLSCredentialsError.Part, _ code: Int32) throws(TLSCredentialsError) {
        if code < 0 { throw TLSCredentialsError(part: part, code: code) }
    }
}

/// Why credentials cannot be used.
public struct TLSCredentialsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Part: Hashable, Sendable {
        /// There is no certificate, or none that can be read.
        case certificate
        /// There is no private key, or none that can be read without a passphrase.
        case key
        /// The key is not that of the certificate.
        case pair
        /// There are no certificates of authorities, or some that cannot be read.
        case clientAuthorities
    }

    /// What is wrong.
    public let part: Part
    /// GnuTLS's own number for it.
    public let code: Int32

    /// GnuTLS's own words for it.
    public var reason: String { gnutls_strerror(code).map { String(cString: $0) } ?? "unknown" }

    /// The part, the reason and the code.
    public var description: String { "\(part): \(reason) (\(code))" }
}
