import Foundation
import Testing

@testable import LarderBenchmarks

struct ReadmeSectionTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func report(_ part: String, _ rows: [Row]) -> Report {
        let machine = Machine(
            cores: 2, processor: "any", memoryBytes: 1 << 34, kernel: "any", versions: ["commit": "abc"])
        return Report(
            part: part, summary: "", machine: machine, settings: Settings(rounds: 3, seconds: 5, isQuick: false),
            rows: rows)
    }

    @Test("The README shows the results of the last measurement exactly")
    func shownAsMeasured() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let reports = try Report.all(in: Self.root.appendingPathComponent("Benchmarks/results"))
        #expect(!reports.isEmpty)
        #expect(ReadmeSection(reports).placed(in: readme) == readme)
    }

    @Test("Hits form a table with a line for each server and a column for each size")
    func hits() throws {
        func row(_ group: String, _ name: String, _ ratio: Double) -> Row {
            Row(
                group: group, name: name, baseline: "bare", values: [.p99: Series([0.0042])!],
                ratios: [.requestsPerSecond: Series([ratio])!])
        }
        let text = ReadmeSection([
            report("hits", [row("1 KiB", "Larder", 0.99), row("64 KiB", "Larder", 0.87), row("64 KiB", "nginx", 0.7)])
        ]).text
        #expect(text.contains("|  | 1 KiB | 64 KiB |"))
        #expect(text.contains("| Larder | 0.99, 4.20 ms | 0.87, 4.20 ms |"))
        #expect(text.contains("| nginx |  | 0.70, 4.20 ms |"))
    }

    @Test("Ratios of other parts are shown with their baseline, their spread and their note")
    func others() throws {
        let row = Row(
            group: "misses, 1 KiB", name: "Larder /fetch", baseline: "nginx", values: [:],
            ratios: [.requestsPerSecond: Series([0.4, 0.5, 0.7])!], note: "It was odd.")
        #expect(ReadmeSection([report("fill", [row])]).text.contains("3 rounds of 5 s. It was odd."))
        #expect(
            ReadmeSection([report("fill", [row])]).text
                .contains("| misses, 1 KiB: Larder /fetch | nginx | requests/s | 0.50 (0.40, 0.70) |"))
    }

    @Test("A value that was counted once is shown without rounds")
    func counts() {
        let row = Row(
            group: "hits, 1 KiB", name: "Larder /fetch", baseline: "bare",
            values: [.instructionsPerRequest: Series([60_000])!], ratios: [.instructionsPerRequest: Series([1.1])!])
        let text = ReadmeSection([report("instructions", [row])]).text
        #expect(text.contains("servers and load on the same machine."))
        #expect(text.contains("| hits, 1 KiB: Larder /fetch | bare | instructions a request, less is better | 1.10 "))
    }

    @Test("A README without the two marks is not changed")
    func noPlace() {
        #expect(ReadmeSection([]).placed(in: "# Larder\n") == nil)
    }
}
