import Foundation

/// The result of one part: a file of `Benchmarks/results`.
struct Report: Codable {
    /// Goes up when what is in the file changes its meaning.
    static let currentFormat = 1

    var format = Report.currentFormat
    var part: String
    var summary: String
    /// When it ended, in RFC 3339.
    var date: String
    var machine: Machine
    var settings: Settings
    var rows: [Row]

    /// The groups, in the order of the rows.
    var groups: [String] {
        rows.reduce(into: []) { if $0.last != $1.group && !$0.contains($1.group) { $0.append($1.group) } }
    }

    /// Reads a file.
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
    /// Writes `README.md` into a folder of results: all tables and plots that are there.
    static func writeIndex(of folder: URL) throws {
        var text = """
            # Results

            Written by `scripts/bench`. Only ratios of one run mean something elsewhere: the machine is shared.


            """
        for part in allParts {
            let file = folder.appendingPathComponent("\(part.name).json")
            guard FileManager.default.fileExists(atPath: file.path) else { continue }
            text += MarkdownTable(try Report(contentsOf: file)).text + "\n![\(part.name)](\(part.name).svg)\n\n"
        }
        try Data((text.trimmingCharacters(in: .newlines) + "\n").utf8)
            .write(to: folder.appendingPathComponent("README.md"))
    }
}

/// One line of the result.
struct Row: Codable {
    var group: String
    var name: String
    /// The row of the same group that ``ratios`` are to.
    var baseline: String?
    var values: [Metric: Series]
    /// Taken in each round, and only then put together: what slows the machine down slows both.
    var ratios: [Metric: Series] = [:]
    var note: String?

    /// The values of all rounds, metric by metric.
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

    /// `nil` without values.
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
