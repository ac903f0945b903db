import Foundation

/// A report in Markdown, with a table for each group.
struct MarkdownTable {
    private let report: Report

    init(_ report: Report) {
        self.report = report
    }

    var text: String {
        var lines = ["## \(report.part)", "", report.summary, "", conditions]
        for group in report.groups {
            let rows = report.rows.filter { $0.group == group }
            let metrics = Self.metrics(of: rows)
            let ratios = Metric.allCases.filter { metric in rows.contains { $0.ratios[metric] != nil } }
            let heads = [group] + ratios.map { "ratio of \($0.title)" } + metrics.map(Self.head)
            lines += ["", line(heads), "|---|" + String(repeating: "---:|", count: heads.count - 1)]
            for row in rows {
                let cells = metrics.map { metric in row.values[metric].map { metric.text($0.median) } ?? "" }
                lines.append(line([row.name] + ratios.map { ratio(row.ratios[$0]) } + cells))
            }
            for note in Set(rows.compactMap(\.note)).sorted() { lines += ["", note] }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The conditions that a reader must know to judge the figures.
    private var conditions: String {
        let machine = report.machine
        let versions = machine.versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let settings = report.settings
        return """
            \(report.date), \(machine.cores) cores (\(machine.processor)), \(machine.memoryBytes >> 30) GiB; medians of \
            \(settings.rounds) rounds of \(settings.seconds) s each with \(settings.connections) connections\
            \(settings.isQuick ? " (a quick run: not to be quoted)" : ""); \(versions.joined(separator: ", ")).
            """
    }

    /// The metrics of the rows. A metric without values is left out, and failures and origin requests also if all are
    /// 0.
    private static func metrics(of rows: [Row]) -> [Metric] {
        Metric.allCases.filter { metric in
            let values = rows.compactMap { $0.values[metric] }
            if metric == .failures || metric == .originRequests { return values.contains { $0.highest > 0 } }
            return !values.isEmpty
        }
    }

    private static func head(_ metric: Metric) -> String {
        metric.unit.isEmpty || metric.unit == "/s" ? metric.title : "\(metric.title), \(metric.unit)"
    }

    /// The median, and the range of the rounds if there are several.
    private func ratio(_ series: Series?) -> String {
        guard let ratio = series else { return "" }
        let median = String(format: "%.2f", ratio.median)
        guard ratio.rounds.count > 1 else { return median }
        return median + String(format: " (%.2f to %.2f)", ratio.lowest, ratio.highest)
    }

    private func line(_ cells: [String]) -> String {
        "| " + cells.joined(separator: " | ") + " |"
    }
}
