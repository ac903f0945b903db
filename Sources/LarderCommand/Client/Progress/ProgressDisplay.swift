/// Lines at the bottom of a terminal. Errors of writing are ignored, because only a person at the terminal needs them.
struct ProgressDisplay {
    private let console: Console
    private var lineCount = 0

    init(_ console: Console) {
        self.console = console
    }

    /// `makeLines` gets the terminal's width.
    mutating func draw(_ makeLines: (Int) -> [String]) {
        replace(with: makeLines(console.columns))
    }

    /// Prints a permanent line above the drawn lines.
    mutating func say(_ line: String) {
        clear()
        try? console.print(line)
    }

    mutating func clear() {
        if lineCount > 0 { replace(with: []) }
    }

    private mutating func replace(with lines: [String]) {
        try? console.write(Array(Self.frame(lines, over: lineCount).utf8))
        lineCount = lines.count
    }

    /// Draws `lines` over the last `count` lines, and leaves the cursor below them. By the control functions of
    /// ECMA-48, the cursor moves up, each line erases the rest of its row, and the last line erases all rows below.
    static func frame(_ lines: [String], over count: Int) -> String {
        (count > 0 ? "\r\u{1b}[\(count)A" : "") + lines.map { $0 + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
    }
}
