/// Lines at the bottom of a terminal that are drawn over again and again. What they say is of no use to anybody but who
/// looks at it, so where it cannot be written it is lost.
struct ProgressDisplay {
    private let console: Console
    private var lineCount = 0

    init(_ console: Console) {
        self.console = console
    }

    /// Draws the lines that `makeLines` gives for the terminal's width.
    mutating func draw(_ makeLines: (Int) -> [String]) {
        replace(with: makeLines(console.columns))
    }

    /// Prints a line that stays, above those that are drawn next.
    mutating func say(_ line: String) {
        clear()
        try? console.print(line)
    }

    /// Takes what was drawn away.
    mutating func clear() {
        if lineCount > 0 { replace(with: []) }
    }

    private mutating func replace(with lines: [String]) {
        try? console.write(Array(Self.frame(lines, over: lineCount).utf8))
        lineCount = lines.count
    }

    /// What draws `lines` where the last `count` lines are, and leaves the cursor below them (ECMA-48: up; each line
    /// erases what was behind it, and the last all that was below).
    static func frame(_ lines: [String], over count: Int) -> String {
        (count > 0 ? "\r\u{1b}[\(count)A" : "") + lines.map { $0 + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
    }
}
