import LarderClient

/// A line that shows progress. Drops its last details if they do not fit, so the line never wraps, and can be redrawn.
struct ProgressLine: Equatable {
    var title: String
    /// From 0 to 1; `nil`: no bar.
    var fraction: Double?
    /// The details of the progress, the most important first.
    var details: [String]

    private static let gap = "  "
    private static let shortestBar = 10
    private static let longestBar = 40

    /// Leaves at least the last of `width` columns empty.
    func text(width: Int) -> String {
        let limit = max(0, width - 1)
        var details = details
        let bar = fraction == nil ? 0 : Self.gap.count + Self.shortestBar
        while !details.isEmpty, title.count + bar + Self.length(of: details) > limit { details.removeLast() }
        var line = title
        let room = limit - title.count - Self.length(of: details) - Self.gap.count
        if let fraction, room >= Self.shortestBar {
            line += Self.gap + Self.bar(fraction, length: min(room, Self.longestBar))
        }
        for detail in details { line += Self.gap + detail }
        return String(line.prefix(limit))
    }

    /// `[====>     ]`, with `length` characters including the brackets.
    static func bar(_ fraction: Double, length: Int) -> String {
        let cells = max(0, length - 2)
        let full = Int((min(max(fraction, 0), 1) * Double(cells)).rounded(.down))
        let head = full > 0 && full < cells ? String(repeating: "=", count: full - 1) + ">" : nil
        let filled = head ?? String(repeating: "=", count: full)
        return "[" + filled + String(repeating: " ", count: cells - full) + "]"
    }

    private static func length(of details: [String]) -> Int {
        details.reduce(0) { $0 + gap.count + $1.count }
    }
}

extension String {
    /// Keeps the last `limit` characters. Three dots replace the first three of them, unless `limit` is 3 or less.
    func shortened(to limit: Int) -> String {
        count <= limit ? self : limit <= 3 ? String(suffix(limit)) : "..." + suffix(limit - 3)
    }
}

/// Lines at the bottom of a terminal. Write errors are ignored, because only a person at the terminal needs the lines.
struct ProgressDisplay {
    private let console: Console
    private var lineCount = 0

    init(_ console: Console) {
        self.console = console
    }

    /// `makeLines` gets the terminal's width.
    mutating func draw(_ makeLines: (Int) -> [String]) {
        let lines = makeLines(console.columns)
        try? console.write(Array(Self.frame(lines, over: lineCount).utf8))
        lineCount = lines.count
    }

    /// Prints a permanent line above the drawn lines.
    mutating func say(_ line: String) {
        clear()
        try? console.print(line)
    }

    mutating func clear() {
        if lineCount > 0 { draw { _ in [] } }
    }

    /// Draws `lines` over the last `count` lines, and leaves the cursor below them. By the control functions of
    /// ECMA-48, the cursor moves up, each line erases the rest of its row, and the last line erases all rows below.
    static func frame(_ lines: [String], over count: Int) -> String {
        (count > 0 ? "\r\u{1b}[\(count)A" : "") + lines.map { $0 + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
    }
}

/// Asks the server for progress at most four times a second, until the task is cancelled.
enum ProgressPoll {
    private static let interval: Duration = .milliseconds(250)

    static func run<Progress>(_ ask: () async -> Progress, show: (Progress) async -> Void) async {
        while (try? await Task.sleep(for: interval)) != nil {
            let progress = await ask()
            if !Task.isCancelled { await show(progress) }
        }
    }

    /// Passes the running downloads, or an empty list when the server does not return them, as for a token without the
    /// scope `read`.
    static func run(_ client: APIClient, _ show: ([RunningDownload]) async -> Void) async {
        await run {
            (try? await client.runningDownloads()) ?? []
        } show: {
            await show($0)
        }
    }
}

/// The progress of a wait for the server: a line on a terminal, and no output elsewhere or with `--json`.
struct WaitDisplay {
    private var display: ProgressDisplay?

    init(_ options: ClientOptions) {
        display = Console.error.canRedraw && !options.json ? ProgressDisplay(.error) : nil
    }

    /// `makeLine` gets the terminal's width.
    mutating func draw(_ makeLine: (Int) -> String) {
        display?.draw { [makeLine($0)] }
    }

    mutating func clear() {
        display?.clear()
    }
}
