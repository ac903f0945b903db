import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("Client certificates")
struct ClientCertificateTests {
    private let authority: TestAuthority
    private let others: TestAuthority

    init() async throws {
        (authority, others) = try await blocking { (try TestAuthority(), try TestAuthority()) }
    }

    @Test(
        "Only a client with a valid certificate is served; the handler sees no request of any other client",
        arguments: ["-tls1_2", "-tls1_3"])
    func onlyGood(version: String) async throws {
        let (good, bad) = try await blocking { [authority, others] in
            let bad = [
                ("issuer is unknown", try others.issue("other", for: .client)),
                ("expired", try authority.issue("old", for: .client, hasExpired: true)),
                ("purpose", try authority.issue("server-only", for: .server)),
            ]
            return (try authority.issue("good", for: .client), bad)
        }
        let (requests, lines) = (Mailbox<String>(), Mailbox<String>())
        let handler = Handler.answering { exchange in
            requests.put(exchange.request.target)
            return Response()
        }
        let credentials = try TLSCredentials(authority.server, clients: authority)
        try await withDaemon(credentials, handler, configure: { $0.log = { lines.put($0) } }) { [authority] daemon in
            #expect(try daemon.secureStatus(authority, certificate: good, arguments: [version]) == 200)
            #expect(requests.count == 1)
            #expect(try daemon.secureStatus(authority, arguments: [version]) == nil)
            for (words, certificate) in bad {
                let status = try daemon.secureStatus(authority, certificate: certificate, arguments: [version])
                #expect(status == nil, "\(words)")
                try pollBlocking("a line with “\(words)” and the address") {
                    try lines.wait(for: 0).contains { $0.contains("127.0.0.1") && $0.contains(words) }
                }
            }
            #expect(requests.count == 1)
            #expect(try daemon.secureStatus(authority, certificate: good, arguments: [version]) == 200)
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("If the server requires client certificates, curl fails without a certificate, and succeeds with one")
    func curl() async throws {
        let credentials = try TLSCredentials(authority.server, clients: authority)
        let good = try await blocking { [authority] in try authority.issue("good", for: .client) }
        let handler = Handler.answering { _ in Response(text: "served") }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let arguments = ["-sS", "--cacert", authority.certificateFile, "https://127.0.0.1:\(daemon.port)/"]
            let refused = try ChildProcess.run("curl", arguments)
            #expect(refused.exit != .status(0) && !refused.text.contains("served"), "\(refused.text)")
            let served = try ChildProcess.run(
                "curl", ["--cert", good.certificateFile, "--key", good.keyFile] + arguments)
            #expect(served.exit == .status(0) && served.text == "served", "\(served.text)")
        }
    }

    @Test("Changed client authorities apply to new connections; the daemon still serves the open connections")
    func otherAuthorities() async throws {
        let (old, new) = try await blocking { [authority, others] in
            (try authority.issue("old", for: .client), try others.issue("new", for: .client))
        }
        let before = try TLSCredentials(authority.server, clients: authority)
        let after = try TLSCredentials(authority.server, clients: others)
        let handler = Handler.answering { Response(text: $0.request.target) }
        try await withDaemon(before, handler) { [authority] daemon in
            let open = try RawConnection(port: daemon.port, authority: authority, certificate: old)
            try open.sendRequest("GET", "/before")
            #expect(try open.readReply().text == "/before")
            #expect(try daemon.secureStatus(authority, certificate: new) == nil)
            daemon.use(after)
            #expect(try daemon.secureStatus(authority, certificate: new) == 200)
            #expect(try daemon.secureStatus(authority, certificate: old) == nil)
            try open.sendRequest("GET", "/after")
            #expect(try open.readReply().text == "/after")
        }
    }
}
