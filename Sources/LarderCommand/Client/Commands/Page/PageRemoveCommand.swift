import ArgumentParser
import LarderClient
import Primitives

struct PageRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm", abstract: "Remove pages, and cancel their running captures.",
        discussion: """
            Other entries of the same URL stay; "larder rm URL" removes them, too. Returns when the removal is durable.
            """)

    @Argument(help: "Keys and URLs of the pages.") var pages: [String]
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var count: Int64 = 0
            var isMissing = false
            for page in pages {
                do {
                    let key = try await client.key(of: EntryReference(page))
                    count = count.addingClamped(try await client.remove(page: key))
                } catch ClientError.refused(let problem) where problem.status == 404 {
                    isMissing = true
                    if !options.json { try Console.error.print("\(LogText.words(page)): no page") }
                }
            }
            var report = Report()
            report.add("removed", String(count))
            try options.print(["removed": .number(count)], or: report)
            if isMissing { throw ExitStatus.notHeld.code }
        }
    }
}
