import Foundation

/// A report as bars. A bar shows the ratio of a row, or its first metric if the group has no ratios.
struct SVGPlot {
    private let report: Report

    private static let width = 760.0
    private static let labels = 230.0
    private static let barHeight = 16.0
    private static let step = 22.0

    init(_ report: Report) {
        self.report = report
    }

    var text: String {
        var y = 16.0
        var parts: [String] = []
        for group in report.groups {
            let rows = report.rows.filter { $0.group == group }
            let held = Metric.allCases.first { metric in rows.contains { $0.ratios[metric] != nil } }
            let inTable = Metric.allCases.first { metric in rows.contains { $0.values[metric] != nil } }
            guard let metric = held ?? inTable else { continue }
            let hasRatio = held != nil
            // In a group with ratios, a row without a ratio is a baseline and gets no bar.
            let bars = hasRatio ? rows.filter { $0.ratios[metric] != nil } : rows
            let values = bars.map { row in hasRatio ? row.ratios[metric] : row.values[metric] }
            let largest = max(values.compactMap { $0?.highest }.max() ?? 0, hasRatio ? 1 : 0)
            guard largest > 0 else { continue }
            let scale = (Self.width - Self.labels - 80) / largest
            let against = hasRatio ? ", ratio to \(Self.baseline(bars))" : ""
            parts.append(Self.label("\(group): \(metric.title)\(against)", x: 12, y: y + 12, isBold: true))
            y += Self.step
            let top = y
            for (row, value) in zip(bars, values) {
                guard let value else { continue }
                parts.append(Self.label(row.name, x: Self.labels - 8, y: y + 12, anchor: "end"))
                parts.append(Self.bar(from: value, at: y, scale: scale, isOurs: row.name.hasPrefix("Larder")))
                let plain = "\(metric.text(value.median)) \(metric.unit)"
                let figure = hasRatio ? String(format: "%.2f", value.median) : plain
                parts.append(Self.label(figure, x: Self.labels + value.highest * scale + 6, y: y + 12))
                y += Self.step
            }
            if hasRatio {
                let x = Self.number(Self.labels + scale)
                parts.append(
                    "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.number(top - 3))\" y2=\"\(Self.number(y - 3))\" "
                        + "stroke=\"#444\" stroke-dasharray=\"3 3\"/>")
            }
            y += 12
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.number(Self.width)) \(Self.number(y))" \
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="#fff"/>
            \(parts.joined(separator: "\n"))
            </svg>

            """
    }

    /// The median as a bar, and a thin line from the lowest to the highest round.
    private static func bar(from series: Series, at y: Double, scale: Double, isOurs: Bool) -> String {
        let middle = number(y + barHeight / 2)
        return """
            <rect x="\(number(labels))" y="\(number(y))" width="\(number(series.median * scale))" \
            height="\(number(barHeight))" fill="\(isOurs ? "#2f6f9f" : "#b9c4cc")"/>
            <line x1="\(number(labels + series.lowest * scale))" x2="\(number(labels + series.highest * scale))" \
            y1="\(middle)" y2="\(middle)" stroke="#222"/>
            """
    }

    private static func label(
        _ text: String, x: Double, y: Double, anchor: String = "start", isBold: Bool = false
    ) -> String {
        let escaped = text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        return "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" fill=\"#222\""
            + (isBold ? " font-weight=\"bold\"" : "") + ">\(escaped)</text>"
    }

    /// The name of the common baseline of the rows, or of bare libmicrohttpd if the baselines differ.
    private static func baseline(_ rows: [Row]) -> String {
        let names = Set(rows.compactMap(\.baseline))
        return names.count == 1 ? names.first ?? "" : "bare libmicrohttpd"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String(format: "%.1f", value)
    }
}
