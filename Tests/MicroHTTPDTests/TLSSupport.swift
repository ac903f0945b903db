import Foundation
import HTTPTypes
import MicroHTTPD
import TestSupport

extension TLSCredentials {
    /// Reads the files of a certificate. With `clients`, each client must present a certificate of that authority.
    convenience init(_ files: TestAuthority.Certificate, clients: TestAuthority? = nil) throws {
        func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
        try self.init(
            certificate: bytes(files.certificateFile), key: bytes(files.keyFile),
            clientAuthorities: clients.map { try bytes($0.certificateFile) })
    }
}

extension Daemon {
    /// The status of the answer to a `GET` over a new TLS connection; `nil` when the daemon closes the connection
    /// without an answer.
    func secureStatus(
        _ authority: TestAuthority, certificate: TestAuthority.Certificate? = nil, arguments: [String] = []
    ) throws -> Int? {
        let connection = try RawConnection(
            port: port, authority: authority, certificate: certificate, arguments: arguments)
        // If the daemon has closed the connection already, the request cannot be sent.
        try? connection.sendRequest("GET", "/", fields: [.connection: "close"])
        return try? connection.readReply().status
    }
}

/// Runs a daemon like the other `withDaemon`, over TLS with the credentials.
func withDaemon<Result: Sendable>(
    _ credentials: TLSCredentials, _ handler: any RequestHandler,
    configure: (inout DaemonConfiguration) -> Void = { _ in }, _ body: @escaping @Sendable (Daemon) throws -> Result
) async throws -> Result {
    try await withDaemon(
        handler,
        configure: {
            $0.tls = credentials
            configure(&$0)
        }, body)
}
