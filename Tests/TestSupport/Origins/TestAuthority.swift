/// A certificate authority that lives as long as a test, and a certificate that it signed for a server at `localhost`
/// and `127.0.0.1`. Made with the `openssl` command.
package final class TestAuthority: Sendable {
    /// A certificate and its key, as files in PEM.
    package struct Certificate: Sendable {
        /// The certificate.
        package let certificateFile: String
        /// Its private key.
        package let keyFile: String
    }

    /// The purpose of a certificate.
    package enum Use: String, Sendable {
        /// A server, under `localhost` and `127.0.0.1`.
        case server = "serverAuth"
        /// A client.
        case client = "clientAuth"
    }

    private let directory: TemporaryDirectory
    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    /// Makes the keys and certificates. Throws when `openssl` is missing or fails.
    package init() throws {
        directory = try TemporaryDirectory("larder-ca")
        let key = Self.key + ["-days", "2"]
        try openssl(
            ["req", "-x509"] + key + [
                "-keyout", directory.path("ca.key"), "-out", certificateFile, "-subj", "/CN=Larder test authority",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
            ])
        try openssl(
            ["req", "-x509", "-CA", certificateFile, "-CAkey", directory.path("ca.key")] + key + [
                "-keyout", serverKeyFile, "-out", serverCertificateFile, "-subj", "/CN=localhost",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth",
            ])
    }

    /// The authority's own certificate in PEM, which a client has to trust.
    package var certificateFile: String { directory.path("ca.pem") }
    /// The server's certificate, PEM.
    package var serverCertificateFile: String { directory.path("server.pem") }
    /// The server's private key, PEM.
    package var serverKeyFile: String { directory.path("server.key") }

    /// The server's certificate and its private key.
    package var server: Certificate { Certificate(certificateFile: serverCertificateFile, keyFile: serverKeyFile) }

    /// Signs another certificate, with a key and a serial number of its own. Throws when `openssl` fails.
    ///
    /// - Parameters:
    ///   - name: the common name, and the name of the files.
    ///   - hasExpired: whether the certificate expired yesterday; `false` by default.
    package func issue(_ name: String, for use: Use, hasExpired: Bool = false) throws -> Certificate {
        let certificate = Certificate(
            certificateFile: directory.path("\(name).pem"), keyFile: directory.path("\(name).key"))
        let request = directory.path("\(name).csr")
        try openssl(
            ["req", "-new"] + Self.key + [
                "-keyout", certificate.keyFile, "-out", request, "-subj", "/CN=\(name)",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=\(use.rawValue)",
            ])
        try openssl([
            "x509", "-req", "-in", request, "-CA", certificateFile, "-CAkey", directory.path("ca.key"),
            "-copy_extensions", "copyall", "-days", hasExpired ? "-1" : "2", "-out", certificate.certificateFile,
        ])
        return certificate
    }

    /// Makes a copy of a key that needs a passphrase to be read, and returns the path of the copy. Throws when
    /// `openssl` fails.
    package func protect(_ keyFile: String) throws -> String {
        let copy = keyFile + ".protected"
        try openssl(["pkcs8", "-topk8", "-in", keyFile, "-passout", "pass:secret", "-out", copy])
        return copy
    }

    private func openssl(_ arguments: [String]) throws {
        let output = try ChildProcess.run("openssl", arguments)
        guard output.exit == .status(0) else { throw Failure(description: "openssl: \(output.text)") }
    }

    /// The error when `openssl` fails.
    package struct Failure: Error, CustomStringConvertible {
        /// The output of `openssl`.
        package let description: String
    }
}
