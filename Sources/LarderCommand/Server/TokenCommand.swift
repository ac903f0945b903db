import ArgumentParser
import DiskCache
import Foundation
import Larder

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Create, list and remove the tokens that a server accepts.",
        subcommands: [Create.self, List.self, Remove.self])

    struct File: ParsableArguments {
        @Option(
            "Token file. [\(Setting.tokensFile.variable)]", value: "file", name: .customLong(Setting.tokensFile.name))
        var tokensFile: String?

        func path() throws -> String {
            if let tokensFile { return tokensFile }
            guard let path = ProcessInfo.processInfo.environment[Setting.tokensFile.variable], !path.isEmpty else {
                throw ValidationError("the token file is missing; give --tokens-file FILE")
            }
            return path
        }
    }

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Create a token and print it. It is shown only once.",
            discussion: """
                Adds the token's SHA-256 to the file, which is created if missing. A running server accepts the token after kill -HUP.
                """)

        @OptionGroup var file: File
        @Option(help: "Name of the token: 1 to 63 characters of a-z, 0-9 and -.") var name: String
        @Option(
            name: .customLong("scope"),
            help: "Scope of the token: \(Scope.allCases.map(\.rawValue).joined(separator: ", ")). Repeatable.")
        var scopes: [Scope]
        @Option(
            name: .customLong("namespace"),
            help: "Namespace that the token covers, or * for all. Repeatable. [default: default]")
        var namespaces: [String] = []
        @Option(help: "Limit of requests a second. [default: no limit]") var rate: Double?

        func validate() throws {
            guard AccessToken.isName(name) else {
                throw ValidationError("--name must be 1 to 63 characters of a-z, 0-9 and -")
            }
            guard !scopes.isEmpty else { throw ValidationError("the scope is missing; give for example --scope read") }
            for namespace in namespaces where namespace != "*" && !NamespaceName.isValid(namespace) {
                throw ValidationError(
                    "\"\(namespace)\" is not a namespace; expected 1 to 63 characters of a-z, 0-9 and -, or *")
            }
            guard rate.map({ $0 > 0 && $0 <= 1e6 }) ?? true else {
                throw ValidationError("--rate must be above 0 and at most 1000000")
            }
        }

        func run() throws {
            let secret = TokenSecret(name: name)
            let namespaces = namespaces.isEmpty ? [NamespaceName.default] : namespaces
            try TokenFile.add(
                AccessToken(
                    name: name, digest: secret.digest, scopes: Set(scopes),
                    namespaces: namespaces.contains("*") ? nil : Set(namespaces), rate: rate),
                at: try file.path())
            print(secret.text)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Print the names, scopes and namespaces of all tokens.")

        @OptionGroup var file: File

        func run() throws {
            for token in try TokenFile(at: try file.path()).tokens {
                let scopes = token.scopes.map(\.rawValue).sorted().joined(separator: ",")
                let namespaces = token.namespaces.map { $0.sorted().joined(separator: ",") } ?? "*"
                print(
                    "\(token.name)  scopes \(scopes)  namespaces \(namespaces)"
                        + (token.rate.map { "  rate \($0)" } ?? ""))
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a token. A running server refuses it after kill -HUP.")

        @OptionGroup var file: File
        @Option(help: "Name of the token.") var name: String

        func run() throws {
            try TokenFile.remove(name, at: try file.path())
        }
    }
}

extension Scope: ExpressibleByArgument {}
