import ArgumentParser
import Foundation

/// Measures Larder beside other servers. `scripts/bench` builds all programs and runs this command.
@main
struct LarderBenchmarks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scripts/bench",
        abstract: "Measures Larder beside other servers, all on loopback.",
        discussion: "Parts: \(allParts.map { $0.name }.joined(separator: ", ")). Without arguments, all parts run.")

    @Argument(help: "The parts to run.")
    var parts: [String] = []

    @Flag(help: "Runs in under three minutes, with fewer entries, to check that the benchmarks work.")
    var quick = false

    @Option(help: "How many rounds there are. (default: 5, or 1 with --quick)")
    var rounds: Int?

    @Option(help: "How long each contender is measured in a round, in seconds. (default: 5, or 1 with --quick)")
    var seconds: Int?

    @Option(help: ArgumentHelp("Another executable of Larder than the release build.", valueName: "path"))
    var larder: String?

    @Option(
        help: ArgumentHelp(
            "An earlier result, or a folder of results. Exits with 1 if a value is worse beyond noise.",
            valueName: "result.json"))
    var against: String?

    @Option(
        help: ArgumentHelp(
            "The folder for the results. (default: Benchmarks/results, or .build-bench/quick with --quick)",
            valueName: "folder"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "The folder of the request traces that eviction replays. (default: ../shared/traces)", valueName: "folder"))
    var traces: String?

    func validate() throws {
        for part in parts where !allParts.contains(where: { $0.name == part }) {
            throw ValidationError("there is no part \(part)")
        }
        if let rounds, rounds < 1 { throw ValidationError("--rounds must be at least 1") }
        if let seconds, seconds < 1 { throw ValidationError("--seconds must be at least 1") }
    }

    func run() throws {
        let root = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
        let settings = Settings(
            rounds: rounds ?? (quick ? 1 : 5), seconds: seconds ?? (quick ? 1 : 5), isQuick: quick, larder: larder)
        // The earlier results are read first, because the run may overwrite them.
        let earlier = try against.map(Self.reports) ?? []
        let folder =
            output.map { URL(fileURLWithPath: $0) }
            ?? root.appendingPathComponent(quick ? ".build-bench/quick" : "Benchmarks/results")
        let bench = try Bench(settings: settings, root: root, traces: traces.map { URL(fileURLWithPath: $0) })
        var (isWorse, hasFailed) = (false, false)
        var skipped: [String] = []
        defer { bench.end(keepingFolder: hasFailed) }
        for part in try chosen(earlier) {
            bench.note("part \(part.name)")
            let rows: [Row]
            do {
                rows = try part.init().run(bench)
            } catch {
                // The other parts can still be measured.
                hasFailed = true
                skipped.append(part.name)
                bench.note("\(part.name) failed: \(error); see \(bench.work.path)")
                bench.stopServers()
                continue
            }
            bench.endPart()
            // The part had no data for the measurement, and has reported that.
            if rows.isEmpty {
                skipped.append(part.name)
                continue
            }
            let report = Report(
                part: part.name, summary: part.summary, machine: Machine(bench), settings: settings, rows: rows)
            try report.write(to: folder)
            print(MarkdownTable(report).text)
            for old in earlier where old.part == part.name {
                let comparison = Comparison(report, against: old)
                isWorse = isWorse || comparison.isWorse
                for change in comparison.changes { print("\(change.isWorse ? "WORSE" : "better"): \(change.text)") }
                if comparison.changes.isEmpty { print("\(part.name): no value changed beyond noise") }
            }
        }
        try Report.writeIndex(of: folder)
        // The README only shows the release build, from a full run without failures into the usual folder.
        if output == nil, larder == nil, !quick, !hasFailed {
            try Report.writeSection(of: folder, in: root.appendingPathComponent("README.md"))
        }
        // The message is repeated at the end, because the message of the part is up to an hour old by now.
        for part in skipped { bench.note("\(part) was not measured; its results, if any, are of an earlier run") }
        if isWorse || hasFailed { throw ExitCode.failure }
    }

    /// The parts that the arguments name. Without arguments, the parts of the earlier result, or all parts if there is
    /// no earlier result.
    private func chosen(_ earlier: [Report]) throws -> [any BenchmarkPart.Type] {
        if !parts.isEmpty { return allParts.filter { parts.contains($0.name) } }
        if earlier.isEmpty { return allParts }
        return allParts.filter { part in earlier.contains { $0.part == part.name } }
    }

    /// The results in a file, or in the files of a folder.
    private static func reports(_ path: String) throws -> [Report] {
        let place = URL(fileURLWithPath: path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw ValidationError("\(path) does not exist")
        }
        if !isFolder.boolValue { return [try Report(contentsOf: place)] }
        let files = try FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
        return try files.filter { $0.pathExtension == "json" }.map { try Report(contentsOf: $0) }
    }
}
