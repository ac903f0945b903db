import Foundation
import LarderClient

extension HeldPage {
    /// The cells for a program, which always include the key.
    func cells(now: Date) -> [Cell] { [Cell(key)] + facts(now: now) + [Cell(url), Cell(title ?? "")] }

    static func shownTitles(width: Int) -> [String] {
        ["URL", "STATE", "EXPIRES", "CAPTURED", "MISSING"] + (width < widthWithKeys ? [] : ["KEY"])
    }

    /// The cells for a person at a terminal with `width` columns. On a wide terminal the key comes last.
    func shownCells(now: Date, width: Int) -> [Cell] {
        [Cell(url)] + facts(now: now) + (width < Self.widthWithKeys ? [] : [Cell(key)])
    }

    /// As for entries: a narrower terminal has too little room for URL and key.
    private static let widthWithKeys = 120

    private func facts(now: Date) -> [Cell] {
        [
            Cell(state), expiryDate.map { Cell(instant: $0, now: now) } ?? Cell(""),
            Cell(captured.map { String($0) } ?? ""), Cell(missing.map { String($0) } ?? ""),
        ]
    }

    func report(now: Date) -> Report {
        var report = Report()
        func add(_ name: String, _ value: String?) {
            if let value { report.add(name, value) }
        }
        add("url", url)
        add("key", key)
        add("state", state)
        add("title", title)
        add("mode", mode)
        add("captured", captured.map { String($0) })
        add("missing", missing.map { String($0) })
        if skipped > 0 { add("skipped", String(skipped)) }
        if let bytes { report.add("size", Cell(bytes: bytes)) }
        if let expiryDate { report.add("expires", Cell(instant: expiryDate, now: now)) }
        if !tags.isEmpty { add("tags", tags.joined(separator: ",")) }
        if isPinned { add("pinned", "yes") }
        add("browser", browserProblem)
        add("kept", reasonKept)
        return report
    }

    /// Lines for a person about the missing resources, with escapes for characters that control a terminal.
    var shortcomings: [String] {
        let listed = failures.map { "\(LogText.words($0.url)): \(LogText.words($0.reason))" }
        let others = (missing ?? 0) - Int64(listed.count)
        return listed + (others > 0 ? ["\(others) more resources are missing"] : [])
            + (isLimited ? ["a limit of the capture kept further resources out"] : [])
    }
}
