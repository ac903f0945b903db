import HTTPTypes
import TestSupport
import Testing

@testable import Origin

@Suite struct FTPTests {
    private static func client(_ change: (inout OriginConfiguration) -> Void = { _ in }) -> OriginClient {
        OriginClient(
            configuration: .local {
                $0.schemes.insert("ftp")
                change(&$0)
            })
    }

    @Test(
        "A file arrives whole, with its length and modification time, over EPSV and over PASV",
        arguments: [true, false])
    func file(isExtended: Bool) async throws {
        let body = [UInt8](repeating: 0x66, count: 300_000)
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.offersExtendedPassive = isExtended
        let origin = try ScriptedFTPOrigin(files: ["/pub/file.bin": body], behaviour: behaviour)
        let collector = try await Self.client().get(origin.url("/pub/file.bin"))
        #expect(collector.body == body)
        let head = try #require(collector.head)
        #expect(head.status == 200)
        #expect(head.declaredLength == 300_000)
        #expect(head.fields[.contentLength] == "300000")
        #expect(head.fields[.lastModified] == "Thu, 01 Jan 2026 00:00:00 GMT")
        #expect(try collector.results[0].get().framing.isFramed)
        #expect(!origin.commands.contains { $0.hasPrefix("PORT") || $0.hasPrefix("EPRT") })
    }

    @Test("An empty file is complete")
    func emptyFile() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/empty": []])
        let collector = try await Self.client().get(origin.url("/empty"))
        #expect(collector.heads.map(\.declaredLength) == [0])
        #expect(try collector.results[0].get().byteCount == 0)
    }

    @Test("The next transfer reuses the FTP control connection")
    func reuse() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/a": [1], "/b": [2]])
        let client = Self.client()
        try await client.get(origin.url("/a"))
        #expect(try await client.get(origin.url("/b")).body == [2])
        #expect(origin.connectionCount == 1)
    }

    @Test("An FTP server that never answers QUIT does not delay the shutdown of the client")
    func silentServer() async throws {
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.answersQuit = false
        let origin = try ScriptedFTPOrigin(files: ["/a": [1]], behaviour: behaviour)
        let client = Self.client()
        try await client.get(origin.url("/a"))
        let time = try await blocking { ContinuousClock().measure { client.shutDown() } }
        #expect(time < .seconds(2))
    }

    @Test("A missing file fails with libcurl's error 78")
    func missing() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/a": [1]])
        #expect(try await Self.client().failure(origin.url("/b")).code == 78)
    }

    @Test("A truncated file is an error")
    func cut() async throws {
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.cutAfter = 1000
        let origin = try ScriptedFTPOrigin(files: ["/a": [UInt8](repeating: 1, count: 5000)], behaviour: behaviour)
        #expect(try await Self.client().failure(origin.url("/a")).code == 18)
    }

    @Test("A file over the size limit is refused by its announced length")
    func tooLarge() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/a": [UInt8](repeating: 1, count: 5000)])
        let collector = Self.client().start(origin.url("/a")) { $0.sizeLimit = 4999 }
        guard case .tooLarge = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.body.isEmpty)
    }

    @Test("The client ignores the address in a PASV answer, and opens the data connection to the FTP server itself")
    func hostilePassive() async throws {
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.offersExtendedPassive = false
        behaviour.passiveAddress = "10.255.255.1"
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]], behaviour: behaviour)
        #expect(try await Self.client().get(origin.url("/a")).body == [7])
    }

    @Test("A rule for an address and a control port allows the FTP data connection to any port of the address")
    func dataPort() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]])
        let client = Self.client {
            $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("127.0.0.1:\(origin.port)")])
        }
        #expect(try await client.get(origin.url("/a")).body == [7])
    }

    @Test("The FTP data connection never leads to Larder's own sockets", arguments: [true, false])
    func dataConnection(isExtended: Bool) async throws {
        let own = try ScriptedOrigin { _, connection in try connection.respond() }
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.offersExtendedPassive = isExtended
        behaviour.passivePort = own.port
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]], behaviour: behaviour)
        let error = try await Self.client { $0.ownSockets.add(port: own.port) }.failure(origin.url("/a"))
        guard case .addressRefused("the address is this server's own") = error.kind else {
            Issue.record("\(error.kind): \(error)")
            return
        }
        #expect(own.connectionCount == 0)
    }

    @Test(
        "The FTP data connection never leads to a port below 1024", arguments: [true, false])
    func lowDataPort(isExtended: Bool) async throws {
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.offersExtendedPassive = isExtended
        behaviour.passivePort = 25
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]], behaviour: behaviour)
        let client = Self.client {
            $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("127.0.0.1:\(origin.port)")])
        }
        guard
            case .addressRefused("port 25 is not allowed for FTP data") = try await client.failure(origin.url("/a"))
                .kind
        else {
            Issue.record("the port is not refused")
            return
        }
    }

    @Test("The FTP data connection never leads to a denied port", arguments: [true, false])
    func deniedDataPort(isExtended: Bool) async throws {
        let other = try ScriptedOrigin { _, connection in try connection.respond() }
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.offersExtendedPassive = isExtended
        behaviour.passivePort = other.port
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]], behaviour: behaviour)
        let client = Self.client {
            $0.addressPolicy = AddressPolicy(
                allowing: [try! AddressRule("127.0.0.1:\(origin.port)")],
                denying: [try! AddressRule("127.0.0.1:\(other.port)")])
        }
        guard case .addressRefused = try await client.failure(origin.url("/a")).kind else {
            Issue.record("the port is not refused")
            return
        }
        #expect(other.connectionCount == 0)
    }

    @Test("A disallowed address is refused before the control connection opens")
    func refused() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/a": [7]])
        let error = try await Self.client { $0.addressPolicy = AddressPolicy() }.failure(origin.url("/a"))
        guard case .addressRefused = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(origin.connectionCount == 0)
    }

    @Test("The client follows an HTTP redirect to FTP if its configuration allows FTP")
    func redirect() async throws {
        let ftp = try ScriptedFTPOrigin(files: ["/a": Array("over ftp".utf8)])
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(302, fields: [.location: ftp.url("/a")])
        }
        #expect(try await Self.client().get(origin.url()).text == "over ftp")
    }
}
