import Foundation

/// A value in two forms, for a program and for a person.
struct Cell: Hashable, Sendable {
    let plain: String
    let words: String

    /// With escapes for line ends and for characters that control a terminal.
    func text(forTerminal: Bool) -> String { LogText.words(forTerminal ? words : plain) }
}

extension Cell {
    init(_ text: String) { self.init(plain: text, words: text) }
    init(bytes: Int64) { self.init(plain: String(bytes), words: Words.bytes(bytes)) }
    /// `instant` is in the API's form (RFC 3339).
    init(instant: String, now: Date) { self.init(plain: instant, words: Words.instant(instant, now: now)) }
}

/// The properties of a single item, a line for each: in columns on a terminal, else separated by a tab.
struct Report: Sendable {
    private var table = Table(titles: nil)

    mutating func add(_ name: String, _ value: Cell) { table.add([Cell(name), value]) }
    mutating func add(_ name: String, _ text: String) { add(name, Cell(text)) }
    func lines(forTerminal: Bool) -> [String] { table.lines(forTerminal: forTerminal) }

    func print() throws(CommandFailure) {
        for line in lines(forTerminal: Console.output.isTerminal) { try Console.output.print(line) }
    }
}

/// A table, with a line for each item: in columns under optional titles on a terminal, else separated by tabs and
/// without titles. On a terminal, no line is wider than the terminal.
struct Table: Sendable {
    private let titles: [String]?
    private var rows: [[Cell]] = []

    init(titles: [String]?) {
        self.titles = titles
    }

    /// All rows must have the same number of cells.
    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    private static let gap = "  "
    /// The least width of the first cell after shortening, in columns of the terminal.
    private static let leastWidth = 12

    /// Empty without rows. The first cell of each row is shortened so that the other cells fit beside it into `width`
    /// columns (`nil`: any width). If there is still no room, the end of the line is cut off.
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
            let front = row.indices.dropLast().map { index in
                row[index] + String(repeating: " ", count: max(0, widths[index] - row[index].columns))
            }
            let line = (front + row.suffix(1)).joined(separator: Self.gap)
            return width.map { line.prefix(columns: $0) } ?? line
        }
    }

    func print() throws(CommandFailure) {
        let console = Console.output
        for line in lines(forTerminal: console.isTerminal, width: console.columns) { try console.print(line) }
    }
}

extension String {
    /// The width on a terminal: 2 for a wide character, as Chinese or emoji (UAX #11, UTS #51), 0 for a combining mark.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Dots replace the middle, because the beginning of a URL names the host, and the end distinguishes the resources.
    func shortened(toColumns limit: Int) -> String {
        guard columns > limit else { return self }
        let dots = "..."
        guard limit > dots.count else { return prefix(columns: limit) }
        let kept = limit - dots.count
        let end = String(String(reversed()).prefix(columns: kept / 2).reversed())
        return prefix(columns: kept - kept / 2) + dots + end
    }

    func prefix(columns limit: Int) -> String {
        var left = limit
        return String(
            prefix { character in
                left -= character.columns
                return left >= 0
            })
    }
}

extension Character {
    /// The width of the character's first scalar; a symbol with an emoji variation selector is wide.
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        if [.nonspacingMark, .enclosingMark, .format].contains(first.properties.generalCategory) { return 0 }
        let isEmoji = first.properties.isEmojiPresentation || unicodeScalars.contains("\u{fe0f}")
        return isEmoji || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// The blocks of wide or full-width characters in UAX #11.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3,
        0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18aff,
        0x1b000...0x1b2ff, 0x20000...0x3fffd,
    ]
}
