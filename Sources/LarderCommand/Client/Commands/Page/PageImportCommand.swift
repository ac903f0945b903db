import ArgumentParser
import LarderClient

struct PageImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Store the page in a WARC or WACZ file.",
        discussion: """
            Contacts no origin, and prints the page. Exit status \(ExitStatus.partial.rawValue): the file lacks \
            resources of the page.
            """)

    @Argument(help: "WARC file, plain or compressed, or WACZ file; - is standard input.", completion: .file())
    var file: String
    @Option("URL of the page in the file. [default: the first page in the file]", value: "url") var url: String?
    @Option("Time that the page stays fresh. [default: the server's --default-ttl]", value: "duration")
    var ttl: Seconds?
    @Option("Tag of the page. Repeatable.", value: "tag", name: .customLong("tag")) var tags: [String] = []
    @Flag(help: "Pin the page, so that it is never evicted.") var pinned = false
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let input = try InputFile(file)
            let page = try HeldPage(try await client.send(call(input)).json())
            withExtendedLifetime(input) {}
            try page.print(options)
        }
    }

    private func call(_ input: InputFile) -> APICall {
        var query: APICall.Query = [("url", url), ("ttl", ttl?.description)]
        for tag in tags { query.append(("tags", tag)) }
        if pinned { query.append(("pinned", "true")) }
        return APICall(
            .post, ["pages", "import"], query: query,
            body: .descriptor(input.descriptor, length: input.length, type: "application/octet-stream"))
    }
}
