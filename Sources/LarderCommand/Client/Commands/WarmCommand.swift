import ArgumentParser
import LarderClient

/// `larder warm`: downloads and keeps a list of URLs.
struct WarmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "warm", abstract: "Have the URLs of a list downloaded and kept.",
        discussion: """
            A URL a line, and behind it, if need be, a space and for how many seconds it stays fresh. Empty lines, and \
            what follows a # at the beginning of a word, are left out. What is fresh already is not asked of its \
            origin again: a run that was broken off is simply begun anew. How many are fetched at once is for the \
            server to say (--max-downloads). On a terminal it shows how far it is; Ctrl-C ends it with what it came \
            to.
            """)

    @Argument(help: "The list; - is standard input.", completion: .file())
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
