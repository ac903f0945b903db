import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("Addresses, tokens and failures of the client commands")
struct ClientAccessTests {
    @Test(
        "A client command refuses a malformed server address with the names of the settings and an example",
        arguments: ["127.0.0.1:8080", "localhost", "ftp://h/", "http://h/?x=1", "unix:/run/larder"])
    func badAddress(address: String) async throws {
        let output = try await ClientCommands(server: address).run(["stats"])
        #expect(output.exit == .status(64))
        #expect(
            output.errors.contains("set --server or LARDER_SERVER, for example http://127.0.0.1:8080"),
            "\(output.errors)")
    }

    @Test(
        "A client command reads its token from the environment, never prints it, and fails if the token lacks the scope"
    )
    func tokens() async throws {
        let tokens = try TestTokens([.init(name: "reader", scopes: [.read]), .init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            var larder = ClientCommands(server)
            #expect(try await larder.run(["ls"]).exit == .status(77))
            larder.token = "larder_reader_nothing"
            let wrong = try await larder.run(["ls", "--json"])
            #expect(wrong.exit == .status(77))
            #expect(try JSON(parsing: wrong.errors)["status"] == 401)
            larder.token = tokens.secret("reader")
            #expect(try await larder.run(["ls"]).exit == .status(0))
            for arguments in [
                ["rm", "--all"], ["put", "a", "/dev/null"], ["stats"], ["download", "http://h/"],
            ] {
                let refused = try await larder.run(arguments)
                #expect(refused.exit == .status(77), "\(arguments)")
                #expect(refused.errors.contains("scope") && !refused.errors.contains(tokens.secret("reader")))
            }
            larder.token = " \(tokens.secret("me"))\n"
            #expect(try await larder.run(["put", "a", "-"], input: [1]).exit == .status(0))
            larder.token = "a\u{1}b"
            let broken = try await larder.run(["ls"])
            #expect(broken.exit == .status(64) && broken.errors.contains("LARDER_TOKEN"))
        }
    }

    @Test(
        "The flag --namespace selects a namespace, and the error for an unknown namespace contains the namespace's name"
    )
    func namespace() async throws {
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let fields: HTTPFields = [.contentType: "application/json"]
            _ = try await server.client.request("PUT", "/namespaces/staging", fields: fields, text: "{}")
            let staging = ["--namespace", "staging"]
            #expect(try await larder.run(["put", "a", "-"] + staging, input: [1]).exit == .status(0))
            #expect(try await larder.run(["ls"] + staging).text.hasPrefix("a\t"))
            #expect(try await larder.run(["ls"]).text.isEmpty)
            let unknown = try await larder.run(["ls", "--namespace", "nowhere"])
            #expect(unknown.exit == .status(4) && unknown.errors.contains("nowhere"))
            #expect(try await larder.run(["ls", "--namespace", "No"]).exit == .status(64))
        }
    }

    @Test(
        "If no server listens, the error names its address; if the server is not Larder, the error names LARDER_SERVER")
    func noServer() async throws {
        let port = try RefusingPort()
        let gone = try await ClientCommands(server: port.url("")).run(["ls"])
        #expect(gone.exit == .status(69))
        #expect(gone.errors.contains("http://127.0.0.1:\(port.number)"), "\(gone.errors)")
        let wrong = try await ClientCommands(server: "localhost:8080").run(["ls"])
        #expect(wrong.exit == .status(64) && wrong.errors.contains("address"))
        // The flag takes precedence over the environment variable.
        let flag = try await ClientCommands(server: "nonsense").run(["ls", "--server", port.url("")])
        #expect(flag.exit == .status(69))
        let other = try ScriptedOrigin { _, connection in try connection.respond(404, body: "<html>") }
        defer { other.stop() }
        let foreign = try await ClientCommands(server: other.url("")).run(["ls"])
        #expect(foreign.exit == .status(69) && foreign.errors.contains("LARDER_SERVER"))
        let teapot = try ScriptedOrigin { _, connection in try connection.respond(body: "<html>") }
        defer { teapot.stop() }
        #expect(try await ClientCommands(server: teapot.url("")).run(["ls"]).exit == .status(1))
    }

    @Test("A client command trusts the server's certificate if the authority of the certificate is configured")
    func secure() async throws {
        try await TestServer.with { (server) async throws in
            let front = try await TLSFront(originPort: server.api.port)
            defer { front.stop() }
            try await server.put("a", [1])
            var larder = ClientCommands(server: front.url("/"))
            #expect(try await larder.run(["ls"]).exit == .status(69))
            larder.authority = front.authority.certificateFile
            #expect(try await larder.run(["ls"]).text.hasPrefix("a\t"))
            let put = try await larder.run(["put", "b", "-"], input: [UInt8](repeating: 1, count: 100_000))
            #expect(put.exit == .status(0), "\(put.errors)")
        }
    }

    @Test("A client command with wrong arguments exits with 64 and a message, and the help lists every command")
    func usage() async throws {
        let larder = ClientCommands(server: "http://127.0.0.1:1")
        for arguments in [
            ["download"], ["download", "http://h/", "--ttl", "-1"], ["download", "http://h/", "--ttl", "1w"],
            ["download", "http://h/", "--header", "nonsense"], ["download", "http://h/", "--json", "-o", "-"],
            ["download", "http://h/", "--background", "-o", "x"], ["ls", "--limit", "0"], ["get"],
        ] {
            let output = try await larder.run(arguments)
            #expect(output.exit == .status(64), "\(arguments)")
            #expect(output.errors.hasPrefix("Error: "), "\(output.errors)")
        }
        let help = try await larder.run(["--help"])
        #expect(help.exit == .status(0))
        for command in ["download", "get", "put", "ls", "rm", "warm", "watch", "stats", "explain"] {
            #expect(help.text.contains("\n  \(command) "), "\(command)")
            #expect(try await larder.run([command, "--help"]).text.contains("--json"))
        }
        #expect(help.text.contains("\n  page "))
        for command in ["save", "ls", "open", "export", "import", "rm"] {
            #expect(try await larder.run(["page", command, "--help"]).text.contains("--json"))
        }
        #expect(help.text.contains("LARDER_TOKEN") && help.text.contains("77 "))
    }
}
