import ArgumentParser
import Larder
import LarderClient
import Primitives

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check whether the server on this machine is ready.",
        discussion: """
            For health checks: asks /readyz, on the admin port if one is set. No answer within 4 seconds counts as \
            not ready. The environment variables and the file of "larder serve" name the server's address. \
            Exit status: 0 ready, 1 not ready.
            """)

    /// Less than the timeout of a health check, which would kill this command before the reason is printed.
    private static let patience: Duration = .seconds(4)

    @Option(.host) var host: String?
    @Option(.port) var port: String?
    @Option(.adminPort) var adminPort: String?

    func run() async throws {
        let given: [(Setting, String?)] = [(.host, host), (.port, port), (.adminPort, adminPort)]
        let flags = Dictionary(uniqueKeysWithValues: given.map { ($0.name, [$1].compactMap(\.self)) })
        let probe = try ReadinessProbe(of: try Configuration.resolve(flags: flags), patience: Self.patience)
        if let reason = await probe.run() {
            try? Console.error.print("not ready: \(LogText.words(reason))")
            throw ExitCode.failure
        }
        print("\(probe.server) is ready")
    }
}

extension ReadinessProbe {
    /// Probes the server on this machine. Throws `ValidationError` without a configured port, and for a port with TLS.
    fileprivate init(of configuration: Configuration, patience: Duration) throws {
        guard configuration.adminPort != nil || configuration.tlsCertificate == nil else {
            throw ValidationError(
                "the server uses TLS; start it with --admin-port, which is plain HTTP, and check that port")
        }
        let port = configuration.adminPort ?? configuration.port
        guard port != 0 else {
            throw ValidationError(
                "port 0 stands for any free port; name the server's actual port with --port or --admin-port")
        }
        // A server that listens on all addresses also listens on loopback.
        var configuration = configuration
        switch configuration.host {
        case "0.0.0.0": configuration.host = "127.0.0.1"
        case "::": configuration.host = "::1"
        default: break
        }
        let text = "http://\(configuration.authority(port: port))"
        let server = Result { () throws(ServerAddress.Invalid) in try ServerAddress(text) }
        self.init(server: try server.mapError { ValidationError($0.description) }.get(), patience: patience)
    }
}

/// Requests `/readyz` from a server, once and without a token.
struct ReadinessProbe: Sendable {
    let server: ServerAddress
    /// The time limit for the whole response.
    let patience: Duration

    /// Returns the reason why the server is not ready, partly in the server's own words; `nil` if it is ready.
    func run() async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask { await ask() }
            group.addTask {
                try? await Task.sleep(for: patience)
                return "\(server) does not answer"
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    private func ask() async -> String? {
        do {
            let client = APIClient(APIClient.Configuration(server: server))
            return try await client.withResponse(to: APICall(["readyz"])) { (response) -> String? in
                guard response.status != 200 else { return nil }
                let json = try? JSON(parsing: try await response.collect())
                return "\(server) answers: \(json?["status"]?.stringValue ?? "status \(response.status)")"
            }
        } catch {
            return "\(error)"
        }
    }
}
