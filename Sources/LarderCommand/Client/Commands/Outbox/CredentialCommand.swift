import ArgumentParser
import LarderClient
import Primitives

/// `larder credential`: secret fields for requests to origins.
struct CredentialCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential", abstract: "Store, list and remove credentials for origins.",
        subcommands: [CredentialPutCommand.self, CredentialListCommand.self, CredentialRemoveCommand.self])
}

struct CredentialPutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store or replace a credential, which no command can show.",
        discussion: """
            The arguments of a command are visible to other users of this machine, and stay in the history of the \
            shell, so use --header-file for secrets: printf 'Authorization: Bearer %s\\n' "$(cat token)" | larder \
            credential put notes --origin https://api.example.com --header-file -
            """)

    @Argument(help: "Name of the credential: letters a-z, digits and hyphens.") var name: String
    @Option(
        name: .customLong("origin"),
        help: ArgumentHelp(
            "Origin that may get the fields, such as https://api.example.com. Repeatable.", valueName: "url"))
    var origins: [String]
    @Option(
        "Field, such as 'Accept: text/csv'; not for secrets. Repeatable.", value: "field",
        name: .customLong("header"))
    var headers: [HeaderArgument] = []
    @Option(
        "File with a field in each line, as 'Name: value'; - is standard input.", value: "file",
        completion: .file())
    var headerFile: String?
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard !headers.isEmpty || headerFile != nil else {
            throw ValidationError("no fields; give --header-file, or --header if the value is no secret")
        }
    }

    func run() async throws {
        try await options.perform { client in
            let stored = try await client.put(credential: name, origins: origins, headers: try fields())
            var report = Report()
            report.add("name", stored.name)
            for origin in stored.origins { report.add("origin", origin) }
            try options.print(stored.json, or: report)
        }
    }

    private func fields() throws(CommandFailure) -> [(name: String, value: String)] {
        var fields = headers
        if let headerFile { fields += try Self.fields(in: try InputFile(headerFile).read()) }
        var names: Set<String> = []
        for field in fields where !names.insert(field.name.lowercased()).inserted {
            throw CommandFailure(.usage, "the field \(field.name) is given twice; give it once")
        }
        guard !fields.isEmpty else { throw CommandFailure(.usage, "the file of --header-file has no fields") }
        return fields.map { ($0.name, $0.value) }
    }

    /// Reads a field from each line that is not empty. The error repeats no part of the line, which may be a secret.
    static func fields(in bytes: [UInt8]) throws(CommandFailure) -> [HeaderArgument] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.usage, "the file of --header-file is not UTF-8")
        }
        var fields: [HeaderArgument] = []
        for (number, line) in zip(1..., text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)) {
            let line = String(line).trimming(while: \.isWhitespace)
            guard !line.isEmpty else { continue }
            guard let field = HeaderArgument(argument: String(line)) else {
                throw CommandFailure(.usage, "line \(number) of --header-file is no field; expected Name: value")
            }
            fields.append(field)
        }
        return fields
    }
}

struct CredentialListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List the names and the origins of credentials.")

    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var output = ListOutput(options)
            let credentials = try await client.credentials()
            let cells: (StoredCredential) -> [Cell] = { [Cell($0.name), Cell($0.origins.joined(separator: " "))] }
            try output.print(
                credentials, json: \.json, titles: ["NAME", "ORIGINS"], shown: cells, cells: cells)
        }
    }
}

struct CredentialRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a credential.",
        discussion: "Changes that name the credential stop when they are next sent.")

    @Argument(help: "Name of the credential.") var name: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            try await client.remove(credential: name)
            var report = Report()
            report.add("removed", "1")
            try options.print(["removed": 1], or: report)
        }
    }
}
