import Foundation

/// A value as a program reads it, and as a person does.
struct Cell: Hashable, Sendable {
    let plain: String
    let words: String

    /// The same for both.
    init(_ text: String) {
        self.init(plain: text, words: text)
    }

    init(plain: String, words: String) {
        self.plain = plain
        self.words = words
    }

    /// A number of bytes.
    init(bytes: Int64) {
        self.init(plain: String(bytes), words: Words.bytes(bytes))
    }

    /// An instant of the API.
    init(instant: String, now: Date) {
        self.init(plain: instant, words: Words.instant(instant, now: now))
    }

    /// What may be shown: nothing in it ends the line or speaks to a terminal.
    func text(forTerminal: Bool) -> String { LogText.words(forTerminal ? words : plain) }
}

/// What is printed of one thing, a line for each of its parts: in columns on a terminal, else with a tab between.
struct Report: Sendable {
    private var rows: [(name: String, value: Cell)] = []

    init() {}

    mutating func add(_ name: String, _ value: Cell) { rows.append((name, value)) }

    mutating func add(_ name: String, _ text: String) { add(name, Cell(text)) }

    func lines(forTerminal: Bool) -> [String] {
        let width = rows.map(\.name.count).max() ?? 0
        return rows.map { name, value in
            let text = value.text(forTerminal: forTerminal)
            return forTerminal ? Table.padded(name, to: width) + "  " + text : "\(name)\t\(text)"
        }
    }

    /// Prints it on standard output.
    func print() throws(CommandFailure) {
        for line in lines(forTerminal: Console.output.isTerminal) { try Console.output.print(line) }
    }
}

/// Several things, a line each: in columns on a terminal, under titles if it has any; else with tabs between and no
/// titles. On a terminal its lines are not wider than that.
struct Table: Sendable {
    private let titles: [String]?
    private var rows: [[Cell]] = []

    /// - Parameter titles: of the columns; `nil` for none.
    init(titles: [String]?) {
        self.titles = titles
    }

    /// Adds a row, with as many cells as every other.
    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// What stands between two columns.
    private static let gap = "  "
    /// The first column is not shortened to fewer columns of the terminal.
    private static let leastWidth = 12

    /// The lines; none, and no titles, when there are no rows.
    ///
    /// - Parameter width: the columns of the terminal: the first cell of each row is shortened so that all others fit
    ///   beside it, and where there is no room even so, the end of a line is left out. `nil`, the default: any number.
    func lines(forTerminal: Bool, width: Int? = nil) -> [String] {
        var texts = rows.map { row in row.map { $0.text(forTerminal: forTerminal) } }
        guard forTerminal, !texts.isEmpty else { return texts.map { $0.joined(separator: "\t") } }
        if let titles { texts.insert(titles, at: 0) }
        var widths = texts[0].indices.map { column in texts.map { $0[column].columns }.max() ?? 0 }
        if let width {
            let others = widths.dropFirst().reduce(0) { $0 + Self.gap.count + $1 }
            widths[0] = min(widths[0], max(Self.leastWidth, width - others))
            for index in texts.indices { texts[index][0] = texts[index][0].shortened(toColumns: widths[0]) }
        }
        return texts.map { row in
            let front = row.indices.dropLast().map { Self.padded(row[$0], to: widths[$0]) }
            let line = (front + row.suffix(1)).joined(separator: Self.gap)
            return width.map { line.prefix(columns: $0) } ?? line
        }
    }

    /// Prints it on standard output.
    func print() throws(CommandFailure) {
        let console = Console.output
        for line in lines(forTerminal: console.isTerminal, width: console.columns) { try console.print(line) }
    }

    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.columns))
    }
}
