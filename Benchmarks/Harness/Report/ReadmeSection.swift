import Foundation

/// The results in the repository's README: the plot of the hits, and a line each for hits, misses, the disk, pages and
/// memory. The section is made of the reports, stands between two marks, and is not written by hand.
/// ``Report/writeIndex(of:)`` writes the tables.
struct ReadmeSection {
    static let opening = "<!-- benchmarks: written by scripts/bench, not by hand -->"
    static let closing = "<!-- end of benchmarks -->"

    let text: String

    init(_ reports: [Report]) {
        let figures = [
            Self.hits(reports), Self.misses(reports), Self.disk(reports), Self.pages(reports), Self.memory(reports),
        ].compactMap { $0 }
        guard !figures.isEmpty else {
            text = ""
            return
        }
        let lines =
            ["![Hits of Larder and other servers](Benchmarks/results/\(Hits.name).svg)", ""] + figures
            + ["", Self.conditions(reports), ""]
        text = lines.joined(separator: "\n")
    }

    /// The README with this section instead of the old section, or `nil` if the README does not have the two marks.
    func placed(in readme: String) -> String? {
        guard let start = readme.range(of: Self.opening), let end = readme.range(of: Self.closing),
            start.upperBound <= end.lowerBound
        else { return nil }
        return readme[..<start.upperBound] + "\n\n" + text + readme[end.lowerBound...]
    }

    private static func hits(_ reports: [Report]) -> String? {
        let servers = [LarderPath.fetch.larderName, "nginx", "Varnish"].compactMap { name -> String? in
            ratios(reports, of: name, in: Hits.name).map { "\(name) \($0)" }
        }
        guard !servers.isEmpty else { return nil }
        let all = servers.joined(separator: "; ")
        return "- **Hits from memory**, in requests/s as a ratio to bare libmicrohttpd: \(all)."
    }

    private static func misses(_ reports: [Report]) -> String? {
        let name = LarderPath.fetch.larderName
        guard let figures = ratios(reports, of: name, in: Fill.name, group: "misses, ") else { return nil }
        return "- **Misses**, in requests/s as a ratio to nginx: \(name) \(figures)."
    }

    private static func disk(_ reports: [Report]) -> String? {
        var figures: [String] = []
        if let hits = ratios(reports, of: "Larder", in: Disk.name) {
            figures.append("hits as a ratio to nginx \(hits)")
        }
        if let stores = ratios(reports, of: "Larder PUT", in: Fill.name, group: "stores, ") {
            figures.append("stores as a ratio to bare SQLite \(stores)")
        }
        guard !figures.isEmpty else { return nil }
        return "- **Disk**, in requests/s: \(figures.joined(separator: "; "))."
    }

    private static func pages(_ reports: [Report]) -> String? {
        let all = rows(reports, in: Pages.name)
        var figures: [String] = []
        let captures = all.compactMap { row in
            row.values[.pagesPerSecond].map {
                "\(Metric.pagesPerSecond.text($0.median)) (\(row.group.dropFirst(Pages.captures.count)))"
            }
        }
        if !captures.isEmpty { figures.append("static captures in pages/s \(captures.joined(separator: ", "))") }
        if let hits = ratios(reports, of: Pages.replay, in: Pages.name, group: Pages.hits) {
            figures.append("hits of replays in requests/s as a ratio to hits of /entries \(hits)")
        }
        let rates = all.filter { $0.group == Pages.ordinaryDocuments }.compactMap { row in
            row.values[.rewrittenPerSecond].map { "\(Metric.rewrittenPerSecond.text($0.median)) (\(row.name))" }
        }
        if !rates.isEmpty {
            figures.append("documents rewritten in one thread in MB/s \(rates.joined(separator: ", "))")
        }
        guard !figures.isEmpty else { return nil }
        return "- **Pages**: \(figures.joined(separator: "; "))."
    }

    private static func memory(_ reports: [Report]) -> String? {
        var figures: [String] = []
        for row in rows(reports, in: Connections.name) where row.name.hasPrefix("Larder") {
            guard let series = row.values[.memoryPerConnection] else { continue }
            figures.append("\(Metric.memoryPerConnection.text(series.median)) KiB for an idle connection")
        }
        let entries = rows(reports, in: Disk.name).first { $0.name == "Larder" }
        if let entries, let series = entries.values[.anonymousMemory] {
            let size = Metric.anonymousMemory.text(series.median)
            figures.append("\(size) MiB in all, with the memory tier (\(entries.group))")
        }
        guard !figures.isEmpty else { return nil }
        return "- **Memory** of the process: \(figures.joined(separator: "; "))."
    }

    /// The ratios of requests/s of the rows with a name, such as `0.90 (1 KiB), 0.84 (64 KiB)`. The groups of the rows
    /// begin with `prefix`, which is not shown. `nil` if there are no such rows.
    private static func ratios(
        _ reports: [Report], of name: String, in part: String, group prefix: String = ""
    ) -> String? {
        let figures = rows(reports, in: part).compactMap { row -> String? in
            guard row.name == name, row.group.hasPrefix(prefix), let ratio = row.ratios[.requestsPerSecond] else {
                return nil
            }
            return String(format: "%.2f", ratio.median) + " (\(row.group.dropFirst(prefix.count)))"
        }
        return figures.isEmpty ? nil : figures.joined(separator: ", ")
    }

    private static func rows(_ reports: [Report], in part: String) -> [Row] {
        reports.first { $0.part == part }?.rows ?? []
    }

    /// The conditions that a reader must know to judge the figures, and the place of all figures.
    private static func conditions(_ reports: [Report]) -> String {
        let quoted = [Hits.name, Fill.name, Disk.name, Pages.name, Connections.name]
        var runs: [String] = []
        for report in reports where quoted.contains(report.part) {
            let machine = report.machine
            let run = """
                \(report.date.prefix(10)), commit \(machine.versions["commit"] ?? "unknown"), \(machine.cores) cores, \
                \(machine.processor)
                """
            if !runs.contains(run) { runs.append(run) }
        }
        return """
            Each figure is a median of several rounds (\(runs.joined(separator: "; "))). The servers and the load ran on \
            the same machine. A ratio below 1 means fewer requests/s. `scripts/bench` measures again, and \
            [Benchmarks/results](Benchmarks/results/README.md) has all tables.
            """
    }
}
