import ArgumentParser
import DiskCache
import Foundation
import Larder
import LarderClient
import Primitives

/// The options of all commands that call a server.
struct ClientOptions: ParsableArguments {
    static let serverVariable = "LARDER_SERVER"
    /// No option sets the token, because a command line is visible to all users of the machine.
    static let tokenVariable = "LARDER_TOKEN"
    static let authorityVariable = "LARDER_CA_FILE"
    static let defaultServer = "http://\(Setting.host.defaultText):\(Setting.port.defaultText)"

    @Option(
        "Address of the server. [\(ClientOptions.serverVariable); default: \(ClientOptions.defaultServer)]",
        value: "url")
    var server: String?
    @Option("Namespace to use. [default: the token's namespace, else \(NamespaceName.default)]", value: "name")
    var namespace: String?
    @Option(
        "Certificate authorities (PEM) to trust in addition to the system's. [\(ClientOptions.authorityVariable)]",
        value: "file", name: .customLong("ca-file"), completion: .file())
    var authorityFile: String?
    @Flag(help: "Print JSON, one line for each entry, event or outcome.") var json = false

    /// Reports an error of `work` on standard error, and throws its exit status. Without `silenceLimit`, the client's
    /// default applies. With `anyNamespace`, the command accepts `*` as the namespace and handles it itself.
    func perform(
        silenceLimit: Duration? = nil, anyNamespace: Bool = false, _ work: (APIClient) async throws -> Void
    ) async throws {
        do {
            try await work(try client(silenceLimit: silenceLimit, anyNamespace: anyNamespace))
        } catch {
            throw report(error)
        }
    }

    func print(_ json: JSON, or report: @autoclosure () throws -> Report) throws {
        if self.json { try Console.output.print(json: json) } else { try report().print() }
    }

    private func client(silenceLimit: Duration?, anyNamespace: Bool) throws(CommandFailure) -> APIClient {
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        let text = server ?? environment[Self.serverVariable] ?? Self.defaultServer
        let address = try Result { () throws(ServerAddress.Invalid) in try ServerAddress(text) }.mapError { error in
            let words = "\(error); set --server or \(Self.serverVariable), for example \(Self.defaultServer)"
            return CommandFailure(.usage, words)
        }.get()
        var configuration = APIClient.Configuration(server: address)
        if let text = environment[Self.tokenVariable] {
            configuration.token = BearerToken(text)
            guard configuration.token != nil else {
                throw CommandFailure(.usage, "\(Self.tokenVariable) contains characters that tokens do not have")
            }
        }
        if let namespace, !(anyNamespace && namespace == "*") {
            guard NamespaceName.isValid(namespace) else {
                throw CommandFailure(
                    .usage, "\"\(namespace)\" is not a namespace; expected 1 to 63 characters of a-z, 0-9 and -")
            }
            configuration.namespace = namespace
        }
        configuration.certificateAuthorityFile = authorityFile ?? environment[Self.authorityVariable]
        if let silenceLimit { configuration.silenceLimit = silenceLimit }
        return APIClient(configuration)
    }

    /// Prints an error on standard error. Returns the exit status of the command.
    func report(_ error: any Error) -> ExitCode {
        if let code = error as? ExitCode { return code }
        let (status, words, problem): (ExitStatus, String, JSON?) =
            switch error {
            case ClientError.cancelled, is CancellationError: (.interrupted, "interrupted", nil)
            case let failure as CommandFailure: (failure.status, failure.description, nil)
            case let error as ClientError: (ExitStatus(error), error.description, error.problem?.json)
            default: (.failed, "\(error)", nil)
            }
        // A failure to print the message is ignored, because there is no way to report it.
        if json {
            try? Console.error.print(json: problem ?? ["detail": .string(words)])
        } else {
            try? Console.error.print("Error: \(LogText.words(words))")
        }
        return status.code
    }
}

extension Option {
    /// `value` names the value in the help.
    init<T: ExpressibleByArgument>(
        _ help: String, value: String, name: NameSpecification = .long, completion: CompletionKind? = nil
    ) where Value == T? {
        self.init(name: name, help: ArgumentHelp(help, valueName: value), completion: completion)
    }

    init<T: ExpressibleByArgument>(wrappedValue: [T], _ help: String, value: String, name: NameSpecification)
    where Value == [T] {
        self.init(wrappedValue: wrappedValue, name: name, help: ArgumentHelp(help, valueName: value))
    }
}
