import ArgumentParser
import LarderClient

struct OutboxResolveCommand: AsyncParsableCommand {
    enum Side: String, CaseIterable, ExpressibleByArgument {
        case ours
        case theirs
    }

    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Decide about a change in conflict.",
        discussion: """
            "larder outbox show" shows both sides. --take ours sends the change over the version of the origin: of JSON, \
            the change wins only where both edits clash. --take theirs cancels the change, and --file sends another \
            body. If the origin has a still newer version by then, this version is merged, or the change stops again.
            """)

    @Argument(help: "Id of the change.") var id: Int64
    @Option("Side to take: ours or theirs.", value: "side") var take: Side?
    @Option("File with the body to send instead; - is standard input.", value: "file", completion: .file())
    var file: String?
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard (take == nil) != (file == nil) else {
            throw ValidationError("expected a decision: either --take ours, --take theirs, or --file with another body")
        }
    }

    func run() async throws {
        try await options.perform { client in
            try options.print(try await client.resolve(change: id, try resolution()))
        }
    }

    private func resolution() throws(CommandFailure) -> ChangeResolution {
        if let file { return .body(try InputFile(file).read()) }
        return take == .theirs ? .theirs : .ours
    }
}
