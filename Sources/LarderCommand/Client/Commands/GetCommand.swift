import ArgumentParser
import LarderClient

/// `larder get`: prints the body of an entry.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Print the body of what is held.",
        discussion: """
            It never asks an origin: "larder download --output" does, when it has to. With --json the entry's metadata \
            are printed, and not the body. To a terminal it prints plain text only: it ends with \
            \(ExitStatus.usage.rawValue) at what is not UTF-8, or is a character that controls the terminal or the \
            direction of text. With --output - it prints all of it there, too.
            """)

    @Argument(help: "The key, or the URL.")
    var entry: String
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write it there instead of to standard output.", valueName: "file"), completion: .file())
    var output: String?
    @Flag(name: .long, help: "Expired is good enough.")
    var stale = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        if options.json, output != nil { throw ValidationError("with --json there is no body for --output") }
    }

    func run() async throws {
        try await options.perform { client in
            let key = try await client.key(of: EntryReference(entry))
            guard options.json else { return try await client.save(key, allowsStale: stale, to: output) }
            try Console.output.print(json: try await client.send(APICall(["entries", key])).json())
        }
    }
}
