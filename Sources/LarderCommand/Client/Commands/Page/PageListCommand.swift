import ArgumentParser
import Foundation
import LarderClient

struct PageListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List pages.",
        discussion: """
            Sorted by key. On a terminal, lines fit its width: the URL comes first and is shortened, and the key comes \
            last from 120 columns. Elsewhere, and with --json, lines are complete, and have the columns key, state, \
            expiry date, captured, missing, URL and title.
            """)

    @Option("Only pages with this tag.", value: "tag") var tag: String?
    @Option(
        "Only pages in this state: queued, fetching, complete, partial, failed or cancelled.", value: "state",
        completion: .list(["queued", "fetching", "complete", "partial", "failed", "cancelled"]))
    var state: String?
    @Option("Only pages with this text in the URL or title, in any letter case.", value: "text") var query: String?
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            var output = ListOutput(options)
            try await client.pages(tag: tag, state: state, text: query) { pages in
                let (now, width) = (Date(), Console.output.columns)
                try output.print(
                    pages, json: \.json, titles: HeldPage.shownTitles(width: width),
                    shown: { $0.shownCells(now: now, width: width) }, cells: { $0.cells(now: now) })
            }
        }
    }
}
