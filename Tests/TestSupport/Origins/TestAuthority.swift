/// A certificate authority that lives as long as a test, and a server's certificate for `localhost` and `127.0.0.1`
/// that it signed. Made with the `openssl` command.
public final class TestAuthority: Sendable {
    private let directory: TemporaryDirectory

    /// Makes the keys and certificates. Throws when `openssl` is missing or fails.
    public init() throws {
        directory = try TemporaryDirectory("larder-ca")
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
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

    /// The authority's own certificate, PEM: what a client has to trust.
    public var certificateFile: String { directory.path("ca.pem") }
    /// The server's certificate, PEM.
    public var serverCertificateFile: String { directory.path("server.pem") }
    /// The server's private key, PEM.
    public var serverKeyFile: String { directory.path("server.key") }

    private func openssl(_ arguments: [String]) throws {
        let output = try ChildProcess.run("openssl", arguments)
        guard output.exit == .status(0) else { throw Failure(description: "openssl: \(output.text)") }
    }

    /// `openssl` did not do it.
    public struct Failure: Error, CustomStringConvertible {
        /// What it said.
        public let description: String
    }
}
