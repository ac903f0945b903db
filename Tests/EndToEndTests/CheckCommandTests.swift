import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The command larder check")
struct CheckCommandTests {
    private func check(
        _ arguments: [String] = [], environment: [String: String?] = [:]
    ) async throws -> (exit: ChildProcess.Exit, text: String) {
        let process = try ChildProcess(
            LarderProcess.executable, ["check"] + arguments,
            environment: environment.merging(["LARDER_CONFIG": nil]) { $1 })
        return (try await process.wait(), process.output)
    }

    /// Returns the port for probes. The log names this port after the line `listening`, so the function waits for it.
    private func adminPort(of larder: LarderProcess) async throws -> String {
        try await poll("the log line with the port for probes") { larder.logLines("probes and metrics").count == 1 }
        let url = try #require(larder.logLines("probes and metrics").first?["url"]?.stringValue)
        return String(try #require(URL(string: url)?.port))
    }

    @Test(
        "The command larder check, with a port or admin port from flags or variables, reports a running server as ready"
    )
    func ready() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"), arguments: ["--admin-port", "0"])
        let (port, admin) = (String(larder.port), try await adminPort(of: larder))
        for (arguments, environment) in [
            (["--port", port], [:]), ([], ["LARDER_PORT": port]), (["--port", "1", "--admin-port", admin], [:]),
            ([], ["LARDER_PORT": "1", "LARDER_ADMIN_PORT": admin]), (["--host", "localhost", "--port", port], [:]),
            // In a container, the server listens on 0.0.0.0, and `larder check` runs in the same container.
            (["--port", port], ["LARDER_HOST": "0.0.0.0"]),
        ] as [([String], [String: String?])] {
            let output = try await check(arguments, environment: environment)
            #expect(output.exit == .status(0), "\(arguments) \(environment): \(output.text)")
            #expect(output.text.hasSuffix(" is ready\n"))
        }
        #expect(try await larder.stop() == .status(0))
    }

    @Test("While a draining server still has a request in flight, larder check reports the server as not ready")
    func draining() async throws {
        let gate = Gate("the origin's answer")
        let origin = try ScriptedOrigin { _, connection in
            try gate.waitBlocking()
            try connection.respond(body: "late")
        }
        defer {
            gate.open()
            origin.stop()
        }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"), arguments: ["--admin-port", "0"])
        let admin = try await adminPort(of: larder)
        let call: JSON = ["url": .string(origin.url("/a"))]
        let client = larder.client
        async let waiting = client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
        try await origin.waitForRequests(1)
        larder.process.kill(SIGTERM)
        try await poll("the log line about the drain") { larder.logLines("draining").count == 1 }
        // The server logs `draining` right before the drain begins, so the first checks may find a ready server.
        var output = try await check(["--admin-port", admin])
        while output.exit == .status(0) { output = try await check(["--admin-port", admin]) }
        #expect(output.exit == .status(1))
        #expect(output.text == "not ready: http://127.0.0.1:\(admin) answers: draining\n")
        gate.open()
        #expect(try await waiting.status == 200)
        #expect(try await larder.process.wait() == .status(0))
    }

    @Test(
        "The command larder check reports a refused connection or another server's answer as not ready, with the reason"
    )
    func notReady() async throws {
        let refusing = try RefusingPort()
        let refused = try await check(["--port", "\(refusing.number)"])
        #expect(refused.exit == .status(1))
        #expect(refused.text.hasPrefix("not ready: \(refusing.url("")): "), "\(refused.text)")
        #expect(refused.text.contains("connect"), "\(refused.text)")
        for (status, answer, words) in [
            (500, "", "status 500"), (503, "<p>busy</p>", "status 503"), (503, #"{"status":"lost"}"#, "lost"),
            (503, #"{"status":"\u001b[2J"}"#, #"\u{1b}[2J"#),
        ] {
            let origin = try ScriptedOrigin { _, connection in try connection.respond(status, body: answer) }
            defer { origin.stop() }
            let output = try await check(["--port", "\(origin.port)"])
            #expect(output.exit == .status(1))
            #expect(output.text == "not ready: \(origin.url("")) answers: \(words)\n")
            #expect(origin.requests.map(\.target) == ["/readyz"])
        }
        let silent = try ScriptedOrigin { _, connection in connection.close() }
        defer { silent.stop() }
        let nothing = try await check(["--port", "\(silent.port)"])
        #expect(nothing.exit == .status(1))
        #expect(nothing.text.hasPrefix("not ready: \(silent.url("")): "), "\(nothing.text)")
    }

    @Test("The command larder check ends with a usage error if the port is 0 or invalid, or if the server has only TLS")
    func mistakes() async throws {
        let tls = try await check(environment: ["LARDER_TLS_CERTIFICATE": "server.pem", "LARDER_TLS_KEY": "server.key"])
        #expect(tls.exit == .status(64))
        #expect(tls.text.contains("start it with --admin-port"), "\(tls.text)")
        for (arguments, words) in [
            (["--port", "0"], "any free port"), (["--port", "http"], "--port: \"http\" is not valid"),
        ] {
            let output = try await check(arguments)
            #expect(output.exit == .status(64))
            #expect(output.text.contains(words), "\(output.text)")
        }
    }
}
