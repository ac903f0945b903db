import ArgumentParser
import DiskCache
import Foundation
import Larder

/// `larder token`: creates, lists and removes tokens.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Make, list and remove the tokens that a server asks for.",
        subcommands: [Create.self, List.self, Remove.self])

    /// The file of the tokens.
    struct File: ParsableArguments {
        @Option(
            name: .customLong(Setting.tokensFile.name),
            help: ArgumentHelp("The file of tokens. [\(Setting.tokensFile.variable)]", valueName: "file"))
        var tokensFile: String?

        func path() throws -> String {
            if let tokensFile { return tokensFile }
            guard let path = ProcessInfo.processInfo.environment[Setting.tokensFile.variable], !path.isEmpty else {
                throw ValidationError("name the file of tokens: --tokens-file FILE")
            }
            return path
        }
    }

    /// `larder token create`.
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Make a token, and print it: it is shown this once.",
            discussion: """
                The file gets its SHA-256, and is made when it is missing. A running server knows the token after kill -HUP.
                """)

        @OptionGroup var file: File
        @Option(name: .long, help: "Who it is for: 1 to 63 of a to z, 0 to 9 and -.")
        var name: String
        @Option(
            name: .customLong("scope"),
            help: "What it is good for: \(Scope.allCases.map(\.rawValue).joined(separator: ", ")). Repeatable.")
        var scopes: [Scope]
        @Option(
            name: .customLong("namespace"),
            help: "A namespace that it is good for, or * for all. Repeatable. [default: default]")
        var namespaces: [String] = []
        @Option(name: .long, help: "How many requests a second its bearer may make. [default: any number]")
        var rate: Double?

        func validate() throws {
            guard AccessToken.isName(name) else { throw ValidationError("a name is 1 to 63 of a to z, 0 to 9 and -") }
            guard !scopes.isEmpty else { throw ValidationError("say what it is good for: --scope read") }
            for namespace in namespaces where namespace != "*" && !CacheDirectory.isNamespace(namespace) {
                throw ValidationError("\"\(namespace)\" is no namespace: 1 to 63 of a to z, 0 to 9 and -, or *")
            }
            guard rate.map({ $0 > 0 && $0 <= 1e6 }) ?? true else { throw ValidationError("a rate is above 0") }
        }

        func run() throws {
            let secret = TokenSecret(name: name)
            let namespaces = namespaces.isEmpty ? [LarderService.defaultNamespace] : namespaces
            try TokenFile.add(
                AccessToken(
                    name: name, digest: secret.digest, scopes: Set(scopes),
                    namespaces: namespaces.contains("*") ? nil : Set(namespaces), rate: rate),
                at: try file.path())
            print(secret.text)
        }
    }

    /// `larder token list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Print the tokens' names, scopes and namespaces.")

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

    /// `larder token remove`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove a token. A running server forgets it after kill -HUP.")

        @OptionGroup var file: File
        @Option(name: .long, help: "Whose.")
        var name: String

        func run() throws {
            try TokenFile.remove(name, at: try file.path())
        }
    }
}

extension Scope: ExpressibleByArgument {}
