import ArgumentParser
import LarderClient

struct WarmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "warm", abstract: "Download and store the URLs of a list.",
        discussion: """
            One URL on each line, optionally followed by a space and its TTL. Empty lines, and text after a # at the \
            beginning of a word, are ignored. URLs with a fresh entry are not downloaded, so an interrupted run can be \
            repeated. The server limits simultaneous downloads (--max-downloads). On a terminal, shows its progress; \
            Ctrl-C ends the run and prints the results so \
            far.
            """)

    @Argument(help: "File with the list; - is standard input.", completion: .file())
    var file = "-"
    @OptionGroup var request: RequestOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let list = WarmList(try InputFile(file).read())
            let session = WarmSession(list, options: request.options, client: client, printsJSON: options.json)
            try await session.run()
        }
    }
}
