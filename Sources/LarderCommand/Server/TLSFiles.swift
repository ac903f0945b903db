import Foundation
import Larder
import MicroHTTPD

/// The files for TLS. The server reads them at its start, and again on SIGHUP.
struct TLSFiles: Sendable {
    private let certificate: String
    private let key: String
    private let clientAuthority: String?

    /// The message names the option and the file.
    struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    /// More bytes than any valid file has.
    private static let sizeLimit = 1 << 20

    /// ``Configuration/checkTLS()`` must have accepted the configuration. `nil` without TLS.
    init?(of configuration: Configuration) {
        guard let certificate = configuration.tlsCertificate, let key = configuration.tlsKey else { return nil }
        self.certificate = certificate
        self.key = key
        clientAuthority = configuration.tlsClientAuthority
    }

    func read() throws(Invalid) -> TLSCredentials {
        let certificateBytes = try Self.bytes(of: certificate, Setting.tlsCertificate)
        let keyBytes = try Self.bytes(of: key, Setting.tlsKey)
        var authorities: [UInt8]?
        if let clientAuthority { authorities = try Self.bytes(of: clientAuthority, Setting.tlsClientCA) }
        return try Result { () throws(TLSCredentialsError) in
            try TLSCredentials(certificate: certificateBytes, key: keyBytes, clientAuthorities: authorities)
        }.mapError { Invalid(description: words(for: $0)) }.get()
    }

    private func words(for error: TLSCredentialsError) -> String {
        switch error.part {
        case .certificate:
            "\(Setting.tlsCertificate.flag) \(certificate): the file contains no usable certificate in PEM: "
                + "\(error.reason)"
        case .key:
            "\(Setting.tlsKey.flag) \(key): the file contains no private key in PEM without a passphrase: "
                + error.reason
        case .pair:
            "\(Setting.tlsKey.flag) \(key): the key does not belong to the first certificate in "
                + "\(Setting.tlsCertificate.flag) \(certificate)"
        case .clientAuthorities:
            "\(Setting.tlsClientCA.flag) \(clientAuthority ?? ""): the file contains no usable certificates in PEM: "
                + error.reason
        }
    }

    private static func bytes(of path: String, _ setting: Setting) throws(Invalid) -> [UInt8] {
        func invalid(_ reason: String) -> Invalid { Invalid(description: "\(setting.flag) \(path): \(reason)") }
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else { throw invalid(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw invalid("this is not a regular file") }
        guard status.st_mode & S_IWOTH == 0 else {
            throw invalid("all users may write to this file; run chmod o-w on it")
        }
        guard status.st_size > 0 else { throw invalid("the file is empty") }
        guard status.st_size <= sizeLimit, let bytes = FileManager.default.contents(atPath: path) else {
            throw invalid("the file cannot be read, or is larger than \(sizeLimit) bytes")
        }
        return Array(bytes)
    }
}
