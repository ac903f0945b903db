import CMicroHTTPD
import Primitives

/// A daemon's certificate with its key, and the authorities that must have signed its clients' certificates.
/// Credentials never change; ``Daemon/use(_:)`` gives a daemon new credentials.
///
/// A connection retains the credentials that it began with, because GnuTLS reads them without keeping them alive.
///
/// `@unchecked Sendable` is safe because GnuTLS only reads complete credentials, from any number of threads.
package final class TLSCredentials: @unchecked Sendable {
    /// The time from which the certificate is valid. The daemon shows the certificate before then, too: clients refuse
    /// it, and the operator should be told.
    package let notBefore: Timestamp
    /// The time until which the certificate is valid; see ``notBefore``.
    package let notAfter: Timestamp
    /// The number that its authority gave the certificate, in lower-case hexadecimal.
    package let serialNumber: String
    /// Whether a client must show a certificate, on each connection.
    let asksClients: Bool
    let handle: OpaquePointer

    /// Reads credentials; all texts are PEM. Throws ``TLSCredentialsError``.
    ///
    /// - Parameters:
    ///   - certificate: the server's certificate, followed by the intermediate certificates up to an authority that
    ///     clients know.
    ///   - key: the private key of the first certificate, without a passphrase.
    ///   - clientAuthorities: the authorities for clients. One of them must have signed, directly or not, the
    ///     certificate that a client has to show. `nil`, the default: no client certificate is required.
    package init(
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
            // The number may start with a zero byte for the sign.
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
        // Each part is checked separately first, so that the error can name the broken part.
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

package struct TLSCredentialsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The part of the credentials that is broken.
    package enum Part: Hashable, Sendable {
        /// There is no certificate, or it cannot be read.
        case certificate
        /// There is no private key, or it cannot be read without a passphrase.
        case key
        /// The key does not belong to the certificate.
        case pair
        /// There are no certificates of authorities, or some cannot be read.
        case clientAuthorities
    }

    /// The part of the credentials that is broken.
    package let part: Part
    package let code: Int32
    package var reason: String { gnutls_strerror(code).map { String(cString: $0) } ?? "unknown" }
    package var description: String { "\(part): \(reason) (\(code))" }
}
