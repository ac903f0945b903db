import ArgumentParser
import Foundation
import LarderClient
import Primitives

struct PutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store data under a key, or JSON under a URL.",
        discussion: """
            JSON under a URL is stored like a download of the URL: "larder download" is then a hit. With a TTL of 0, \
            nothing is stored, and an existing entry is removed.
            """)

    @Argument(help: "Key or URL of the entry.") var entry: String
    @Argument(help: "File to store; - is standard input.", completion: .file())
    var file = "-"
    @Option("Time that the entry stays fresh. [default: the server's --default-ttl]", value: "duration")
    var ttl: Seconds?
    @Option("Media type. [default: application/octet-stream; JSON under a URL]", value: "type")
    var contentType: String?
    @Option("Tag of the entry. Repeatable.", value: "tag", name: .customLong("tag")) var tags: [String] = []
    @Flag(help: "Pin the entry, so that it is never evicted.") var pinned = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard case .url = EntryReference(entry) else { return }
        guard contentType == nil, tags.isEmpty, !pinned else {
            throw ValidationError("--content-type, --tag and --pinned are not supported for a URL; use a key")
        }
    }

    func run() async throws {
        try await options.perform { client in
            let input = try InputFile(file)
            let answer = try await client.send(call(input)).json()
            withExtendedLifetime(input) {}
            try options.print(answer, or: try Self.report(answer))
        }
    }

    private static func report(_ answer: JSON) throws -> Report {
        var report = Report()
        if let removed = answer["removed"]?.countValue {
            report.add("removed", String(removed))
        } else {
            try HeldEntry(answer).add(to: &report, now: Date())
        }
        return report
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
