import ArgumentParser
import LarderClient

struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Print the body of an entry.",
        discussion: """
            Contacts no origin; "larder download --output" does if needed. With --json, prints the entry's metadata \
            instead of the body. To a terminal, prints only plain text, and exits with \
            \(ExitStatus.usage.rawValue) if the body is not UTF-8 or contains characters that control the terminal or the \
            direction of text. With --output -, prints every body.
            """)

    @Argument(help: "Key or URL of the entry.") var entry: String
    @Option(
        "File to write the body to, instead of standard output.", value: "file", name: .shortAndLong,
        completion: .file())
    var output: String?
    @Flag(help: "Also print an expired entry.") var stale = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        if options.json, output != nil {
            throw ValidationError("--json and --output exclude each other, because --json prints no body")
        }
    }

    func run() async throws {
        try await options.perform { client in
            let key = try await client.key(of: EntryReference(entry))
            guard options.json else { return try await client.save(key, allowsStale: stale, to: output) }
            try Console.output.print(json: try await client.send(APICall(["entries", key])).json())
        }
    }
}
