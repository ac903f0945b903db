import Foundation

/// The result of a part: a file of `Benchmarks/results`.
struct Report: Codable {
    /// The version of the file format, which increases when the contents of the file change their meaning.
    static let currentFormat = 1

    var format = Report.currentFormat
    var part: String
    var summary: String
    /// The time at which the part ended, in RFC 3339.
    var date: String
    var machine: Machine
    var settings: Settings
    var rows: [Row]

    /// The groups, in the order of the rows.
    var groups: [String] {
        rows.reduce(into: []) { if $0.last != $1.group && !$0.contains($1.group) { $0.append($1.group) } }
    }

    /// Reads a file. Throws if its format is not the current format.
    init(contentsOf file: URL) throws {
        self = try JSONDecoder().decode(Report.self, from: Data(contentsOf: file))
        guard format == Self.currentFormat else {
            throw BenchmarkError("\(file.path) is of format \(format), not \(Self.currentFormat)")
        }
    }

    init(part: String, summary: String, machine: Machine, settings: Settings, rows: [Row]) {
        self.part = part
        self.summary = summary
        date = ISO8601DateFormatter().string(from: Date())
        self.machine = machine
        self.settings = settings
        self.rows = rows
    }

    /// Writes `NAME.json`, `NAME.md` and `NAME.svg` into a folder.
    func write(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(self) + Data("\n".utf8)).write(to: folder.appendingPathComponent("\(part).json"))
        try Data(MarkdownTable(self).text.utf8).write(to: folder.appendingPathComponent("\(part).md"))
        try Data(SVGPlot(self).text.utf8).write(to: folder.appendingPathComponent("\(part).svg"))
    }
}

extension Report {
    /// Writes `README.md` with all tables and plots into a folder of results.
    static func writeIndex(of folder: URL) throws {
        var text = """
            # Results

            `scripts/bench` writes this page. Quote the ratios, not the absolute values, because the machine is shared.


            """
        for report in try all(in: folder) {
            text += MarkdownTable(report).text + "\n![\(report.part)](\(report.part).svg)\n\n"
        }
        try Data((text.trimmingCharacters(in: .newlines) + "\n").utf8)
            .write(to: folder.appendingPathComponent("README.md"))
    }

    /// Rewrites the section of the repository's README.
    static func writeSection(of folder: URL, in readme: URL) throws {
        let text = try String(contentsOf: readme, encoding: .utf8)
        guard let new = ReadmeSection(try all(in: folder)).placed(in: text) else {
            throw BenchmarkError("\(readme.path) lacks the marks of the results: \(ReadmeSection.opening)")
        }
        try Data(new.utf8).write(to: readme)
    }

    /// The reports of a folder, in the order of the parts.
    static func all(in folder: URL) throws -> [Report] {
        try allParts.map { folder.appendingPathComponent("\($0.name).json") }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
            .map { try Report(contentsOf: $0) }
    }
}

/// A row of the result.
struct Row: Codable {
    var group: String
    var name: String
    /// The name of the row of the same group to which ``ratios`` refer.
    var baseline: String?
    var values: [Metric: Series] = [:]
    /// The ratios to the baseline. A ratio is computed in each round before the rounds are combined, because other load
    /// on the machine slows both rows.
    var ratios: [Metric: Series] = [:]
    var note: String?

    /// Fills rows that have no values yet with their samples, which are given round by round.
    ///
    /// - Parameter ratios: the metrics of which the ratio to the baseline is computed.
    static func held(_ heads: [Row], _ samples: [[Sample]], ratios: [Metric]) -> [Row] {
        heads.indices.map { index in
            var row = heads[index]
            row.values = values(of: samples[index])
            let baseline = heads.firstIndex { $0.group == row.group && $0.name == row.baseline }
            guard let baseline else { return row }
            for metric in ratios {
                row.ratios[metric] = Series(
                    zip(samples[index], samples[baseline]).compactMap { own, other in
                        guard let value = own[metric], let base = other[metric], base > 0 else { return nil }
                        return value / base
                    })
            }
            return row
        }
    }

    /// The values of all rounds, by metric.
    static func values(of samples: [Sample]) -> [Metric: Series] {
        var values: [Metric: Series] = [:]
        for metric in Metric.allCases { values[metric] = Series(samples.compactMap { $0[metric] }) }
        return values
    }
}

/// The values of all rounds, and their median.
struct Series: Codable {
    var median: Double
    var rounds: [Double]

    /// `nil` if there are no values.
    init?(_ rounds: [Double]) {
        guard !rounds.isEmpty else { return nil }
        let sorted = rounds.sorted()
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        self.rounds = rounds
    }

    var lowest: Double { rounds.min() ?? median }
    var highest: Double { rounds.max() ?? median }
}
