import Foundation
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("TLS credentials")
struct TLSCredentialsTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await blocking { try TestAuthority() }
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test("TLS credentials accept a certificate, its key and authorities, and tell serial number and validity")
    func good() async throws {
        let credentials = try TLSCredentials(authority.server, clients: authority)
        #expect(credentials.asksClients)
        #expect(credentials.serialNumber.utf8.count >= 8)
        let now = SystemClock().now()
        #expect(credentials.notBefore <= now)
        #expect(credentials.notAfter > now + .seconds(86_400))
        let files = try await blocking { [authority] in
            try authority.issue("expired", for: .server, hasExpired: true)
        }
        let expired = try TLSCredentials(files)
        #expect(!expired.asksClients && expired.notAfter < now)
    }

    @Test("A certificate file can hold a whole chain, which begins with the server's certificate")
    func chain() throws {
        let chain = try bytes(authority.serverCertificateFile) + bytes(authority.certificateFile)
        let alone = try TLSCredentials(authority.server)
        let credentials = try TLSCredentials(certificate: chain, key: bytes(authority.serverKeyFile))
        #expect(credentials.serialNumber == alone.serialNumber)
    }

    @Test("If TLS files are unusable, the error names the fault: certificate, key, their pair, or client authorities")
    func bad() async throws {
        let certificate = try bytes(authority.serverCertificateFile)
        let key = try bytes(authority.serverKeyFile)
        let (otherFile, protectedFile) = try await blocking { [authority] in
            (
                try authority.issue("other", for: .server).keyFile,
                try authority.protect(authority.serverKeyFile)
            )
        }
        let (otherKey, protected) = (try bytes(otherFile), try bytes(protectedFile))
        let nonsense = Array("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".utf8)
        let cases: [([UInt8], [UInt8], [UInt8]?, TLSCredentialsError.Part)] = [
            ([], key, nil, .certificate), (key, key, nil, .certificate), (nonsense, key, nil, .certificate),
            (certificate, [], nil, .key), (certificate, certificate, nil, .key), (certificate, protected, nil, .key),
            (certificate, otherKey, nil, .pair), (certificate, key, [], .clientAuthorities),
            (certificate, key, nonsense, .clientAuthorities), (certificate, key, key, .clientAuthorities),
        ]
        for (index, (certificate, key, authorities, part)) in cases.enumerated() {
            let error = #expect(throws: TLSCredentialsError.self, "\(index)") {
                try TLSCredentials(certificate: certificate, key: key, clientAuthorities: authorities)
            }
            #expect(error?.part == part, "\(index)")
            #expect(error?.reason.isEmpty == false)
        }
    }
}
