import ArgumentParser
import Foundation
import LarderClient

/// `larder put`: stores the user's data.
struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store data under a key, or JSON under a URL.",
        discussion: """
            Under a URL it is stored as if it had come from there: a download of it is a hit then. With a ttl of 0 \
            nothing is stored, and what is held is removed.
            """)

    @Argument(help: "The key, or the URL.")
    var entry: String
    @Argument(help: "What to store; - is standard input.", completion: .file())
    var file = "-"
    @Option(
        name: .long,
        help: ArgumentHelp("How long it stays fresh. [default: the server's own]", valueName: "duration"))
    var ttl: Seconds?
    @Option(
        name: .long,
        help: ArgumentHelp("Its media type. [default: application/octet-stream; JSON under a URL]", valueName: "type"))
    var contentType: String?
    @Option(name: .customLong("tag"), help: ArgumentHelp("A label to find it by. Repeatable.", valueName: "tag"))
    var tags: [String] = []
    @Flag(name: .long, help: "Keep it when room is needed.")
    var pinned = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard case .url = EntryReference(entry) else { return }
        guard contentType == nil, tags.isEmpty, !pinned else {
            throw ValidationError("under a URL there are no --content-type, --tag and --pinned")
        }
    }

    func run() async throws {
        try await options.perform { client in
            let input = try InputFile(file)
            let answer = try await client.send(call(input)).json()
            withExtendedLifetime(input) {}
            if options.json { return try Console.output.print(json: answer) }
            var report = Report()
            if let removed = answer["removed"]?.countValue {
                report.add("removed", String(removed))
            } else {
                try HeldEntry(answer).add(to: &report, now: Date())
            }
            try report.print()
        }
    }

    private func call(_ input: InputFile) -> APICall {
        var query: APICall.Query = [("ttl", ttl?.description)]
        switch EntryReference(entry) {
        case .url(let url):
            query.append(("url", url))
            return APICall(
                .put, ["json"], query: query,
                body: .descriptor(input.descriptor, length: input.length, type: "application/json"))
        case .key(let key):
            for tag in tags { query.append(("tags", tag)) }
            if pinned { query.append(("pinned", "true")) }
            return APICall(
                .put, ["entries", key, "content"], query: query,
                body: .descriptor(
                    input.descriptor, length: input.length, type: contentType ?? "application/octet-stream"))
        }
    }
}
