import ArgumentParser
import Foundation
import LarderClient

/// `larder ls`: lists entries.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "List what is held.",
        discussion: """
            On a terminal the lines fit its width: the URL comes first and is shortened, and the key comes last where there \
            are 120 columns. Elsewhere, and with --json, nothing is left out. \
            Sorted by key, each entry that is there all the time comes once, whatever is stored and removed meanwhile; \
            in the other orders only while nothing changes.
            """)

    @OptionGroup(title: "Which") var which: SelectionOptions
    @Option(name: .long, help: ArgumentHelp("Of this URL, in any spelling.", valueName: "url"))
    var url: String?
    // The value may begin with a dash.
    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp(
            "key, url, contentLength, expiryDate, lastAccessDate or hits; -hits begins with the most.",
            valueName: "order"))
    var sort: String?
    @Option(name: .long, help: ArgumentHelp("The most entries. [default: all]", valueName: "number"))
    var limit: Int?
    @OptionGroup var options: ClientOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1") }
    }

    func run() async throws {
        var selection = which.selection
        selection.url = url
        try await options.perform { client in
            var isFirst = true
            try await client.list(selection, sort: sort, limit: limit) { entries in
                if options.json {
                    for entry in entries { try Console.output.print(json: entry.json) }
                    return
                }
                let (now, width) = (Date(), Console.output.columns)
                var table = Table(titles: isFirst ? HeldEntry.shownTitles(width: width) : nil)
                for entry in entries {
                    let isShown = Console.output.isTerminal
                    table.add(isShown ? entry.shownCells(now: now, width: width) : entry.cells(now: now))
                }
                try table.print()
                isFirst = isFirst && entries.isEmpty
            }
        }
    }
}
