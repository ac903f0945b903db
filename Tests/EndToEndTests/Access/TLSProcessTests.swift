import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The executable and TLS")
struct TLSProcessTests {
    private let authority: TestAuthority
    private let directory: TemporaryDirectory

    init() async throws {
        authority = try await blocking { try TestAuthority() }
        directory = try TemporaryDirectory()
    }

    /// Calls the authority on a thread that may block, because the authority runs a process.
    private func withAuthority<Result: Sendable>(
        _ body: @escaping @Sendable (TestAuthority) throws -> Result
    ) async throws -> Result {
        try await blocking { [authority] in try body(authority) }
    }

    private func start(_ arguments: [String] = []) async throws -> LarderProcess {
        try await LarderProcess(
            directory: directory.path("cache"),
            arguments: [
                "--tls-certificate", authority.serverCertificateFile, "--tls-key", authority.serverKeyFile,
            ] + arguments)
    }

    private func curl(_ arguments: [String]) async throws -> ChildProcess.Output {
        try await blocking { [authority] in
            try ChildProcess.run("curl", ["-sS", "--cacert", authority.certificateFile] + arguments)
        }
    }

    /// Sends a `GET` over a new TLS connection.
    private func get(
        _ larder: LarderProcess, _ target: String, certificate: TestAuthority.Certificate? = nil
    ) async throws -> HTTPReply {
        try await blocking { [authority] in
            let connection = try RawConnection(port: larder.port, authority: authority, certificate: certificate)
            try connection.sendRequest("GET", target, fields: [.connection: "close"])
            return try connection.readReply()
        }
    }

    @Test("Over https, the server answers several requests on each connection with whole bodies")
    func stored() async throws {
        let larder = try await start()
        let server = "https://127.0.0.1:\(larder.port)"
        #expect(larder.logLines("listening").first?["url"]?.stringValue == server)
        for (name, count) in [("small", 1000), ("upload", 5 << 20), ("large", 10 << 20)] {
            let piece = pattern(min(count, 1 << 20), seed: count)
            let body = (0..<(count / piece.count)).reduce(into: [UInt8]()) { body, _ in body += piece }
            let file = try directory.write(body, to: name)
            let url = "\(server)/entries/\(name)/content"
            let put = try await curl(["-f", "-T", file, "-o", "/dev/null", url])
            #expect(put.exit == .status(0), "\(put.text)")
            let targets = (1...3).flatMap { ["-o", directory.path("\(name).\($0)"), url] }
            let got = try await curl(["-f", "-w", "%{http_code} %{num_connects}\n"] + targets)
            #expect(got.exit == .status(0) && got.text == "200 1\n200 0\n200 0\n", "\(got.text)")
            for number in 1...3 { #expect(try directory.read("\(name).\(number)") == body, "\(name)") }
        }
        #expect(try await larder.stop() == .status(0))
    }

    @Test("On a miss over https, the client gets the first half of the body before the origin sends the second half")
    func streams() async throws {
        let half = pattern(300_000, seed: 2)
        let gate = Gate("second half")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "600000", .cacheControl: "max-age=60"])
            try connection.send(half)
            try gate.waitBlocking()
            try connection.send(half)
        }
        defer {
            gate.open()
            origin.stop()
        }
        let larder = try await start()
        let url = origin.url("/a")
        try await blocking { [authority] in
            let connection = try RawConnection(port: larder.port, authority: authority)
            try connection.sendRequest("GET", "/fetch/\(url)")
            #expect(try connection.readHead().status == 200)
            #expect(try connection.read(half.count) == half)
            gate.open()
            #expect(try connection.read(half.count) == half)
            try connection.sendRequest("GET", "/fetch/\(url)")
            let hit = try connection.readReply()
            #expect(hit.status == 200 && hit.body == half + half)
        }
        #expect(origin.requestCount == 1)
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A plain HTTP request gets no answer on the TLS port, and gets an answer on the port for probes and metrics")
    func plain() async throws {
        let larder = try await start(["--admin-port", "0"])
        await #expect(throws: (any Error).self) { try await larder.client.request("GET", "/livez") }
        let metrics = try #require(larder.logLines("probes and metrics").first?["url"]?.stringValue)
        #expect(metrics.hasPrefix("http://"))
        let port = try #require(URL(string: metrics)?.port.flatMap { UInt16(exactly: $0) })
        #expect(try await HTTPClient(port: port).request("GET", "/readyz").status == 200)
        #expect(try await get(larder, "/readyz").status == 200)
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "After SIGHUP, new connections get the new certificate, but a certificate without its matching key is not used")
    func reload() async throws {
        let (first, second) = try await withAuthority { authority in
            (try authority.issue("first", for: .server), try authority.issue("second", for: .server))
        }
        func place(_ certificate: String, _ key: String) throws {
            try directory.write(try Data(contentsOf: URL(fileURLWithPath: certificate)), to: "server.pem")
            try directory.write(try Data(contentsOf: URL(fileURLWithPath: key)), to: "server.key")
        }
        try place(first.certificateFile, first.keyFile)
        let larder = try await LarderProcess(
            directory: directory.path("cache"),
            arguments: ["--tls-certificate", directory.path("server.pem"), "--tls-key", directory.path("server.key")])
        func serialNumber() async throws -> String? {
            try await blocking { try RawConnection.certificateSerialNumber(port: larder.port) }
        }
        let open = try await blocking { [authority] in
            let open = try RawConnection(port: larder.port, authority: authority)
            try open.sendRequest("GET", "/livez")
            #expect(try open.readReply().status == 200)
            return open
        }
        let before = try #require(try await serialNumber())
        try place(second.certificateFile, second.keyFile)
        #expect(try await serialNumber() == before)
        larder.process.kill(SIGHUP)
        try await poll("the certificate's reload") { larder.logLines("the certificate was reloaded").count == 1 }
        let after = try #require(try await serialNumber())
        #expect(after != before)
        #expect(larder.logLines("the certificate was reloaded").first?["serial"]?.stringValue == after)

        let key = directory.path("server.key")
        let empty = try directory.write("", to: "empty.pem")
        for (bad, words) in [
            (first.keyFile, "the key does not belong"), (empty, "--tls-key \(key): the file is empty"),
        ] {
            let count = larder.logLines("the certificate could not be reloaded; the previous one stays in use").count
            try place(second.certificateFile, bad)
            larder.process.kill(SIGHUP)
            try await poll("the log line about the unusable files") {
                larder.logLines("the certificate could not be reloaded; the previous one stays in use").count == count
                    + 1
            }
            let line = try #require(
                larder.logLines("the certificate could not be reloaded; the previous one stays in use").last)
            #expect(line["level"] == "error" && line["reason"]?.stringValue?.contains(words) == true, "\(line)")
            #expect(try await serialNumber() == after)
        }
        try await blocking {
            try open.sendRequest("GET", "/livez")
            #expect(try open.readReply().status == 200)
        }
        open.close()
        #expect(try await larder.stop() == .status(0))
    }

    @Test("With --tls-client-ca, clients need a certificate from an authority in the file, and SIGHUP reloads the file")
    func clients() async throws {
        let others = try await blocking { try TestAuthority() }
        let (good, other) = try await withAuthority { authority in
            (try authority.issue("good", for: .client), try others.issue("other", for: .client))
        }
        let path = directory.path("clients.pem")
        try directory.write(try Data(contentsOf: URL(fileURLWithPath: authority.certificateFile)), to: "clients.pem")
        let larder = try await start(["--tls-client-ca", path])
        #expect(try await get(larder, "/stats", certificate: good).status == 200)
        await #expect(throws: (any Error).self) { try await get(larder, "/stats") }
        await #expect(throws: (any Error).self) { try await get(larder, "/stats", certificate: other) }
        try directory.write(try Data(contentsOf: URL(fileURLWithPath: others.certificateFile)), to: "clients.pem")
        larder.process.kill(SIGHUP)
        try await poll("the authority's reload") { larder.logLines("the certificate was reloaded").count == 1 }
        #expect(try await get(larder, "/stats", certificate: other).status == 200)
        await #expect(throws: (any Error).self) { try await get(larder, "/stats", certificate: good) }
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "The start fails for unusable TLS files and incomplete TLS options, with an error that names them and a remedy")
    func mistakes() async throws {
        let (certificate, key) = (authority.serverCertificateFile, authority.serverKeyFile)
        let otherKey = try await withAuthority { try $0.issue("other", for: .server).keyFile }
        let missing = directory.path("missing.pem")
        let empty = try directory.write("", to: "empty.pem")
        let text = try directory.write("not PEM", to: "text.pem")
        let cases: [([String], String, Int32)] = [
            (["--tls-certificate", certificate], "--tls-key FILE", 64),
            (["--tls-key", key], "--tls-certificate FILE", 64),
            (["--tls-client-ca", certificate], "--tls-client-ca needs TLS", 64),
            (["--tls-certificate", "", "--tls-key", key], "--tls-certificate", 64),
            (["--tls-certificate", missing, "--tls-key", key], "--tls-certificate \(missing): No such file", 1),
            (["--tls-certificate", certificate, "--tls-key", directory.path], "this is not a regular file", 1),
            (["--tls-certificate", empty, "--tls-key", key], "--tls-certificate \(empty): the file is empty", 1),
            (
                ["--tls-certificate", text, "--tls-key", key],
                "--tls-certificate \(text): the file contains no usable certificate", 1
            ),
            (
                ["--tls-certificate", certificate, "--tls-key", text],
                "--tls-key \(text): the file contains no private key", 1
            ),
            (
                ["--tls-certificate", certificate, "--tls-key", otherKey],
                "--tls-key \(otherKey): the key does not belong", 1
            ),
            (
                ["--tls-certificate", certificate, "--tls-key", key, "--tls-client-ca", text],
                "--tls-client-ca \(text): the file contains no usable certificates", 1
            ),
        ]
        for (arguments, words, status) in cases {
            let all = ["serve", "--port", "0", "--directory", directory.path("unused")] + arguments
            let output = try await blocking { try ChildProcess.run(LarderProcess.executable, all) }
            #expect(output.exit == .status(status), "\(arguments) \(output.text)")
            #expect(output.text.contains(words), "\(output.text)")
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("unused")))
    }

    @Test("A server with an expired certificate starts with a warning, and serves clients")
    func expired() async throws {
        let old = try await withAuthority { try $0.issue("old", for: .server, hasExpired: true) }
        let larder = try await LarderProcess(
            directory: directory.path("cache"),
            arguments: ["--tls-certificate", old.certificateFile, "--tls-key", old.keyFile])
        try await poll("the expiry warning") { larder.logLines("the certificate has expired").count == 1 }
        let reply = try await curl(["-k", "https://127.0.0.1:\(larder.port)/livez", "-o", "/dev/null"])
        #expect(reply.exit == .status(0), "\(reply.text)")
        #expect(try await larder.stop() == .status(0))
    }
}
