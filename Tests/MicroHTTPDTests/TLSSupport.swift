import Foundation
import HTTPTypes
import MicroHTTPD
import TestSupport

extension TLSCredentials {
    /// Reads files; with `clients` its own certificate is asked of each client.
    convenience init(_ files: TestAuthority.Certificate, clients: TestAuthority? = nil) throws {
        func bytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
        try self.init(
            certificate: bytes(files.certificateFile), key: bytes(files.keyFile),
            clientAuthorities: clients.map { try bytes($0.certificateFile) })
    }
}

extension Daemon {
    /// What it answers to a `GET` over a TLS connection of its own; `nil` when it closes that without an answer.
    func secureStatus(
        _ authority: TestAuthority, certificate: TestAuthority.Certificate? = nil, arguments: [String] = []
    ) throws -> Int? {
        let connection = try RawConnection(
            port: port, authority: authority, certificate: certificate, arguments: arguments)
        // When it is closed already, nothing can be sent.
        try? connection.sendRequest("GET", "/", fields: [.connection: "close"])
        return try? connection.readReply().status
    }
}

/// As the other, over TLS with these credentials.
func withDaemon<Result: Sendable>(
    _ credentials: TLSCredentials, _ handler: any RequestHandler,
    configure: (inout Daemon.Configuration) -> Void = { _ in }, _ body: @escaping @Sendable (Daemon) throws -> Result
) async throws -> Result {
    try await withDaemon(
        handler,
        configure: {
            $0.tls = credentials
            configure(&$0)
        }, body)
}
