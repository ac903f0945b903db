import ArgumentParser
import Foundation
import LarderClient

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List entries.",
        discussion: """
            On a terminal, lines fit its width: the URL comes first and is shortened, and the key comes last from \
            120 columns. Elsewhere, and with --json, lines are complete. \
            Sorted by key, an entry that exists throughout the listing appears once, even if other entries are stored or removed; \
            another order guarantees this only while the cache does not change.
            """)

    @OptionGroup(title: "Selection") var which: SelectionOptions
    @Option("Only entries of this URL, in any spelling.", value: "url") var url: String?
    // The value may begin with a dash.
    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "Order: key, url, contentLength, expiryDate, lastAccessDate or hits; with - in front, such as -hits, the "
                + "reverse.",
            valueName: "order"))
    var sort: String?
    @Option("Limit of printed entries. [default: all]", value: "number") var limit: Int?
    @OptionGroup var options: ClientOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        let selection = [("url", url)] + which.selection
        try await options.perform { client in
            var output = ListOutput(options)
            try await client.list(selection, sort: sort, limit: limit) { entries in
                let (now, width) = (Date(), Console.output.columns)
                try output.print(
                    entries, json: \.json, titles: HeldEntry.shownTitles(width: width),
                    shown: { $0.shownCells(now: now, width: width) }, cells: { $0.cells(now: now) })
            }
        }
    }
}
