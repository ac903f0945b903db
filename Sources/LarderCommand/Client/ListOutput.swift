import LarderClient
import Primitives

/// The output of a command that lists items, one page after another: JSON lines with `--json`, and otherwise a table of
/// which only the first rows have titles.
struct ListOutput {
    private let isJSON: Bool
    private var needsTitles = true

    init(_ options: ClientOptions) { isJSON = options.json }

    /// Prints a page of items.
    ///
    /// - Parameters:
    ///   - shown: the cells for a person at a terminal, under `titles`.
    ///   - cells: the complete cells for a program.
    mutating func print<Item>(
        _ items: [Item], json: (Item) -> JSON, titles: [String], shown: (Item) -> [Cell], cells: (Item) -> [Cell]
    ) throws {
        if isJSON {
            for item in items { try Console.output.print(json: json(item)) }
            return
        }
        var table = Table(titles: needsTitles ? titles : nil)
        for item in items { table.add(Console.output.isTerminal ? shown(item) : cells(item)) }
        try table.print()
        needsTitles = needsTitles && items.isEmpty
    }
}
