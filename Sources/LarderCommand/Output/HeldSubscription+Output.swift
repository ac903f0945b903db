import Foundation
import LarderClient
import Primitives

extension HeldSubscription {
    /// The cells for a program.
    func cells(now: Date) -> [Cell] {
        [
            Cell(name), Cell(state), Cell(isRefreshing ? "yes" : "no"), Cell(String(generation)), Cell(String(held)),
            Cell(String(wanted)), Cell(String(missingCount)), Cell(instantOrNone: oldest, now: now),
            Cell(instantOrNone: nextRefresh, now: now), Cell(source),
        ]
    }

    static let shownTitles = ["NAME", "STATE", "HELD", "MISSING", "OLDEST", "REFRESH", "SOURCE"]

    /// The cells for a person at a terminal. The source comes last, because the terminal may cut it off.
    func shownCells(now: Date) -> [Cell] {
        [
            Cell(name), Cell(state), Cell("\(held) of \(wanted)"), Cell(String(missingCount)),
            Cell(instantOrNone: oldest, now: now),
            isRefreshing ? Cell("running") : Cell(instantOrNone: nextRefresh, now: now), Cell(source),
        ]
    }

    func report(now: Date) -> Report {
        var report = Report()
        report.add("name", name)
        report.add("source", source)
        report.add("state", state)
        report.add("refreshing", isRefreshing ? "yes" : "no")
        report.add("generation", String(generation))
        report.add("held", String(held))
        report.add("wanted", String(wanted))
        report.add("missing", String(missingCount))
        if leftOut > 0 { report.add("left out", "\(leftOut) without a URL that can be fetched") }
        if let oldest { report.add("oldest", Cell(instant: oldest, now: now)) }
        if let nextRefresh { report.add("next", Cell(instant: nextRefresh, now: now)) }
        if let sourceProblem { report.add("problem", sourceProblem) }
        if let sourceProblemDate { report.add("since", Cell(instant: sourceProblemDate, now: now)) }
        return report
    }

    /// A row for each missing resource that the server lists. On a terminal, the URL comes first.
    func missingTable(now: Date, forTerminal: Bool) -> Table {
        var table = Table(titles: ["MISSING", "REASON", "SINCE"])
        for resource in missing {
            let cells = [Cell(resource.url), Cell(resource.reason), Cell(instantOrNone: resource.since, now: now)]
            table.add(forTerminal ? cells : [Cell("lacks")] + cells)
        }
        return table
    }

    /// Lines for a person about the missing resources, with escapes for characters that control a terminal.
    var shortcomings: [String] {
        let listed = missing.prefix(100).map { "\(LogText.words($0.url)): \(LogText.words($0.reason))" }
        let others = missingCount - Int64(listed.count)
        return listed + (others > 0 ? ["\(others) more resources are missing"] : [])
    }

    /// The reason for which the last refresh did not reach the readers; `nil` if it did.
    var failure: String? {
        if let sourceProblem { return "the source of \(name): \(sourceProblem)" }
        guard state == "no-room" else { return nil }
        return generation == 0
            ? "\(name) has no room for its first generation"
            : "\(name) has no room for a new generation, and keeps the old one"
    }

    /// `feed https://news.example/rss`, or the number of URLs for a definition with URLs, which lists leave out.
    private var source: String {
        for kind in ["feed", "sitemap", "pages"] {
            if let url = definition["source"]?[kind]?.stringValue { return "\(kind) \(url)" }
        }
        for kind in ["urls", "capture"] {
            guard let urls = definition["source"]?[kind]?.arrayValue else { continue }
            return "\(kind) (\(urls.count))"
        }
        return definition["source"] == .object([]) ? "urls (\(wanted))" : ""
    }
}

extension SubscriptionItem {
    /// The cells for a program, which always include the key.
    func cells(now: Date) -> [Cell] {
        [Cell(key ?? "")] + facts(now: now) + [Cell(url), Cell(problem ?? ""), Cell(problemDate ?? "")]
    }

    static let shownTitles = ["URL", "HELD", "CONFIRMED", "PROBLEM"]

    /// The cells for a person at a terminal.
    func shownCells(now: Date) -> [Cell] { [Cell(url)] + facts(now: now) + [Cell(problem ?? "")] }

    private func facts(now: Date) -> [Cell] {
        [Cell(isHeld ? "yes" : "no"), Cell(instantOrNone: confirmedDate, now: now)]
    }
}
