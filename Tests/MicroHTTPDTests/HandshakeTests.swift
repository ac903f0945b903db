import Foundation
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("TLS handshakes")
struct HandshakeTests {
    private static let echo = Handler.answering { Response(text: $0.request.target) }
    private let authority: TestAuthority
    private let credentials: TLSCredentials

    init() async throws {
        authority = try await blocking { try TestAuthority() }
        credentials = try TLSCredentials(authority.server)
    }

    @Test("A plain HTTP client is disconnected without an answer")
    func plainClient() async throws {
        try await withDaemon(credentials, Self.echo) { [authority] daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.isAtEnd())
            #expect(try daemon.secureStatus(authority) == 200)
        }
    }

    @Test("TLS 1.2 and 1.3 are accepted; older versions and ciphers without AEAD or forward secrecy are refused")
    func versions() async throws {
        try await withDaemon(credentials, Self.echo) { [authority] daemon in
            for arguments in [["-tls1_2"], ["-tls1_3"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"]] {
                #expect(try daemon.secureStatus(authority, arguments: arguments) == 200, "\(arguments)")
            }
            for (version, ciphers) in [
                ("-tls1_1", "ALL"), ("-tls1", "ALL"), ("-tls1_2", "AES128-SHA"), ("-tls1_2", "ECDHE-ECDSA-AES128-SHA"),
            ] {
                // At security level 0, the client itself accepts any version and cipher.
                let arguments = [version, "-cipher", ciphers + ":@SECLEVEL=0"]
                let output = try ChildProcess.run(
                    "openssl", ["s_client", "-connect", "127.0.0.1:\(daemon.port)", "-msg"] + arguments)
                #expect(output.exit != .status(0), "\(arguments)")
                #expect(output.text.contains("ClientHello"), "\(output.text)")
                #expect(output.text.contains("Cipher is (NONE)"), "\(output.text)")
                #expect(!output.text.contains("ServerHello"), "\(output.text)")
            }
        }
    }

    @Test(
        "The daemon resumes no TLS session: each connection makes a full handshake",
        arguments: ["-tls1_2", "-tls1_3"])
    func resumption(version: String) async throws {
        try await withDaemon(credentials, Self.echo) { daemon in
            let output = try ChildProcess.run(
                "openssl", ["s_client", "-connect", "127.0.0.1:\(daemon.port)", "-reconnect", version])
            #expect(output.text.components(separatedBy: "New, TLSv1").count > 2, "\(output.text)")
            #expect(!output.text.contains("Reused, TLSv1"), "\(output.text)")
        }
    }

    @Test("A slow handshake is cut off at the time limit for request heads, and so is a slow head over TLS")
    func slowHandshake() async throws {
        let clock = ManualClock()
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.threads = 1
            $0.requestDeadline = .seconds(2)
            $0.lateAnswer = Response(status: 408, text: "late")
            $0.now = { clock.now() }
        }
        try await withDaemon(credentials, Self.echo, configure: configure) { [authority] daemon in
            let handshake = try RawClient(port: daemon.port)
            let head = try RawConnection(port: daemon.port, authority: authority)
            try head.send("GET / HTTP/1.1\r\nHost:")
            // The beginning of a ClientHello.
            for byte in [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3] as [UInt8] {
                try handshake.send([byte])
                // The answer shows that the daemon's only thread has processed all earlier input.
                #expect(try daemon.secureStatus(authority) == 200)
                clock.advance(by: .milliseconds(100))
            }
            #expect(daemon.connectionCount >= 2)
            clock.advance(by: .seconds(2))
            #expect(try handshake.isAtEnd())
            // The daemon sends no plain text on a TLS connection, so the client does not get the late answer.
            #expect(try head.readToEnd() == [])
            #expect(try daemon.secureStatus(authority) == 200)
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("A TLS connection over the limit of its address is closed without an answer")
    func crowd() async throws {
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.connectionLimitPerAddress = 1
            $0.crowdAnswer = Response(status: 503, text: "too many")
        }
        try await withDaemon(credentials, Self.echo, configure: configure) { [authority] daemon in
            let first = try RawConnection(port: daemon.port, authority: authority)
            try first.sendRequest("GET", "/")
            #expect(try first.readReply().status == 200)
            #expect(try daemon.secureStatus(authority) == nil)
            let client = try RawClient(port: daemon.port)
            #expect(try client.isAtEnd())
            try first.sendRequest("GET", "/again")
            #expect(try first.readReply().text == "/again")
        }
    }
}
