/// The content of a terminal after some output. It knows only the control sequences that draw progress. A character
/// that does not fit goes into the next line, as on a real terminal.
package struct TerminalScreen {
    /// The error for an unknown control sequence.
    package struct Unknown: Error, CustomStringConvertible {
        /// The sequence.
        package let description: String
    }

    private let columns: Int
    private var rows: [[Character]] = [[]]
    private var row = 0
    private var column = 0

    /// An empty screen, `columns` characters wide and as high as needed.
    package init(columns: Int) {
        self.columns = columns
    }

    /// The lines of the screen, without the spaces at their ends, and without the empty lines below the last.
    package var lines: [String] {
        var texts = rows.map { row in
            var row = row
            while row.last == " " { row.removeLast() }
            return String(row)
        }
        while texts.last == "" { texts.removeLast() }
        return texts
    }

    /// Shows a text. Throws ``Unknown``.
    package mutating func write(_ text: String) throws {
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r": column = 0
            case "\n": moveDown()
            case "\u{1b}":
                let parameters = rest.prefix { $0.value < 0x41 || $0.value > 0x5a }
                rest = rest.dropFirst(parameters.count)
                try control(parameters.map { String($0) }.joined(), rest.popFirst().map { String($0) } ?? "")
            default: show(Character(scalar))
            }
        }
    }

    private mutating func control(_ parameters: String, _ final: String) throws {
        switch (final, parameters) {
        case ("K", "["): rows[row] = Array(rows[row].prefix(column))
        case ("J", "["):
            rows[row] = Array(rows[row].prefix(column))
            rows.removeSubrange((row + 1)...)
        default:
            guard final == "A", parameters.hasPrefix("["), let count = Int(parameters.dropFirst()) else {
                throw Unknown(description: "ESC \(parameters)\(final)")
            }
            row = max(0, row - count)
        }
    }

    private mutating func moveDown() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func show(_ character: Character) {
        if column == columns {
            column = 0
            moveDown()
        }
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = character
        column += 1
    }
}
