import Foundation

/// The results in the repository's README: a table of the hits, and the ratios of Larder to other servers in all other
/// parts. The section is made of the reports, stands between two marks, and is not written by hand.
struct ReadmeSection {
    static let opening = "<!-- benchmarks: written by scripts/bench, not by hand -->"
    static let closing = "<!-- end of benchmarks -->"

    let text: String

    init(_ reports: [Report]) {
        var lines: [String] = []
        for report in reports where report.part == Hits.name { lines += Self.hits(report) + Self.notes(report) }
        for report in reports where report.part != Hits.name {
            let rows = report.rows.filter { $0.name.hasPrefix("Larder") }.flatMap(Self.ratios)
            guard !rows.isEmpty else { continue }
            lines += ["| \(report.part) | beside | ratio of | median (from, to) |", "|---|---|---|---:|"] + rows
            lines += [""] + Self.notes(report)
        }
        if !reports.isEmpty {
            lines += [
                "`scripts/bench` measures it anew; [Benchmarks/results](Benchmarks/results/README.md) has all of it.",
                "",
            ]
        }
        text = lines.joined(separator: "\n")
    }

    /// The README with this section instead of the old section, or `nil` if the README does not have the two marks.
    func placed(in readme: String) -> String? {
        guard let start = readme.range(of: Self.opening), let end = readme.range(of: Self.closing),
            start.upperBound <= end.lowerBound
        else { return nil }
        return readme[..<start.upperBound] + "\n\n" + text + readme[end.lowerBound...]
    }

    private static func hits(_ report: Report) -> [String] {
        let groups = report.groups.filter { group in
            report.rows.contains { $0.group == group && $0.ratios[.requestsPerSecond] != nil }
        }
        var names: [String] = []
        for row in report.rows where row.ratios[.requestsPerSecond] != nil && !names.contains(row.name) {
            names.append(row.name)
        }
        var lines = [
            "![hits beside other servers](Benchmarks/results/\(report.part).svg)", "",
            report.summary + " The first figure is the ratio of requests/s, the second the p99.", "",
            line([""] + groups), "|---|" + String(repeating: "---:|", count: groups.count),
        ]
        for name in names {
            lines.append(
                line(
                    [name]
                        + groups.map { group in
                            guard let row = report.rows.first(where: { $0.group == group && $0.name == name }),
                                let ratio = row.ratios[.requestsPerSecond]
                            else { return "" }
                            let p99 =
                                row.values[.p99].map { ", \(Metric.p99.text($0.median)) \(Metric.p99.unit)" } ?? ""
                            return String(format: "%.2f", ratio.median) + p99
                        }))
        }
        return lines + [""]
    }

    /// The ratios of a row, each with its baseline.
    private static func ratios(_ row: Row) -> [String] {
        Metric.allCases.compactMap { metric in
            guard let ratio = row.ratios[metric] else { return nil }
            let range = String(format: "%.2f (%.2f, %.2f)", ratio.median, ratio.lowest, ratio.highest)
            let what = metric.isMoreBetter == true ? metric.title : "\(metric.title), less is better"
            return line(["\(row.group): \(row.name)", row.baseline ?? "", what, range])
        }
    }

    /// The conditions and notes that a reader must know to judge a report's figures.
    private static func notes(_ report: Report) -> [String] {
        let machine = report.machine
        let conditions = """
            \(report.date.prefix(10)), commit \(machine.versions["commit"] ?? "unknown"), \(machine.cores) cores \
            (\(machine.processor)), servers and load on the same machine
            """
        // Instructions are counted once, without rounds.
        let hasRounds = report.rows.contains { row in
            row.ratios.keys.contains { $0 != .instructionsPerRequest }
        }
        let rounds = hasRounds ? "; \(report.settings.rounds) rounds of \(report.settings.seconds) s." : "."
        return [([conditions + rounds] + Set(report.rows.compactMap(\.note)).sorted()).joined(separator: " "), ""]
    }

    private static func line(_ cells: [String]) -> String {
        "| " + cells.joined(separator: " | ") + " |"
    }
}
