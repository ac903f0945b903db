import Foundation
import Testing

@testable import LarderBenchmarks

struct ComparisonTests {
    private func report(_ rows: [Row]) -> Report {
        let settings = Settings(rounds: 3, seconds: 5, isQuick: false)
        let machine = Machine(cores: 2, processor: "any", memoryBytes: 1 << 34, kernel: "any", versions: [:])
        return Report(part: "hits", summary: "Hits.", machine: machine, settings: settings, rows: rows)
    }

    private func row(ratios: [Double], of metric: Metric = .requestsPerSecond) -> Row {
        Row(group: "1 KiB", name: "Larder", baseline: "bare", values: [:], ratios: [metric: Series(ratios)!])
    }

    @Test("The median of an even number of rounds is the mean of the middle two")
    func median() {
        #expect(Series([4, 1, 3, 2])?.median == 2.5)
        #expect(Series([9, 1, 5])?.median == 5)
        #expect(Series([]) == nil)
    }

    @Test("In each round, a row's value is divided by the value of its baseline, which is a row of the same group")
    func ratios() {
        let heads = [
            Row(group: "b", name: "few", baseline: "many"), Row(group: "a", name: "few"),
            Row(group: "a", name: "many", baseline: "few"),
        ]
        let rows = Row.held(
            heads, [[[.p99: 1], [.p99: 1]], [[.p99: 2], [.p99: 4]], [[.p99: 3], [.p50: 1]]], ratios: [.p99])
        #expect(rows.map { $0.values[.p99]?.rounds } == [[1, 1], [2, 4], [3]])
        #expect(rows[2].values[.p50]?.rounds == [1])
        #expect(rows.map { $0.ratios[.p99]?.rounds } == [nil, nil, [1.5]])
    }

    @Test("When a round measures the servers several times, every second measurement uses the reverse order")
    func order() {
        let turns = (0..<2).flatMap { round in
            (0..<3).map { Turn(round: round, number: $0, count: 3, seconds: 1) }
        }
        #expect(turns.map(\.index) == [0, 1, 2, 3, 4, 5])
        #expect(turns.map { $0.order(of: 2) } == [[0, 1], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
        #expect(Turn(round: 1, number: 0, count: 1, seconds: 3).order(of: 2) == [0, 1])
    }

    @Test("A round of several measurements has the mean rate and time, the sum of failures and the largest memory")
    func together() {
        let round = Metric.together([
            [.requestsPerSecond: 10, .p99: 1, .failures: 0, .peakMemory: 5],
            [.requestsPerSecond: 20, .p99: 9, .failures: 2, .peakMemory: 7],
            [.requestsPerSecond: 60, .p99: 2, .failures: 1, .peakMemory: 6],
        ])
        #expect(round == [.requestsPerSecond: 30, .p99: 4, .failures: 3, .peakMemory: 7])
    }

    @Test("A ratio to the baseline that fell in every round is a regression; a ratio that rose is an improvement")
    func change() {
        let (before, after) = (report([row(ratios: [0.9, 0.92, 0.95])]), report([row(ratios: [0.7, 0.75, 0.8])]))
        #expect(Comparison(after, against: before).isWorse)
        let back = Comparison(before, against: after)
        #expect(!back.isWorse && back.changes.count == 1)
    }

    @Test("Two reports show no change if the values of their rounds overlap, or if their medians are close")
    func noise() {
        let wide = (report([row(ratios: [0.7, 0.9, 1])]), report([row(ratios: [0.6, 0.75, 0.8])]))
        #expect(Comparison(wide.1, against: wide.0).changes.isEmpty)
        let close = (report([row(ratios: [0.90, 0.91, 0.92])]), report([row(ratios: [0.87, 0.88, 0.89])]))
        #expect(Comparison(close.1, against: close.0).changes.isEmpty)
    }

    @Test("A time that rose in every round is a regression")
    func time() {
        let before = report([row(ratios: [1, 1.1, 1.2], of: .p99)])
        let after = report([row(ratios: [1.9, 2, 2.1], of: .p99)])
        #expect(Comparison(after, against: before).isWorse)
    }

    @Test("2 % more instructions are a regression for a hit; for any other request, 6 % more are a regression")
    func instructions() {
        func counted(_ count: Double, isHit: Bool) -> Report {
            var row = Row(group: "1 KiB", name: "Larder", values: [.instructionsPerRequest: Series([count])!])
            if isHit { row.ratios[.instructionsPerRequest] = Series([count / 90_000])! }
            return report([row])
        }
        let (hit, other) = (counted(100_000, isHit: true), counted(100_000, isHit: false))
        #expect(Comparison(counted(102_000, isHit: true), against: hit).isWorse)
        #expect(!Comparison(counted(100_500, isHit: true), against: hit).isWorse)
        #expect(Comparison(counted(106_000, isHit: false), against: other).isWorse)
        #expect(!Comparison(counted(102_000, isHit: false), against: other).isWorse)
    }

    @Test("The rates of two runs are not compared, because the machine may have been busy")
    func rates() {
        func rated(_ rate: Double) -> Report {
            report([Row(group: "1 KiB", name: "Larder", values: [.requestsPerSecond: Series([rate])!])])
        }
        #expect(Comparison(rated(50_000), against: rated(100_000)).changes.isEmpty)
    }

    @Test("A written report reads back unchanged, and the README.md of its folder shows its plot")
    func file() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try report([row(ratios: [0.5, 0.6, 0.7])]).write(to: folder)
        let read = try Report(contentsOf: folder.appendingPathComponent("hits.json"))
        #expect(read.rows.first?.ratios[.requestsPerSecond]?.rounds == [0.5, 0.6, 0.7])
        let index = folder.appendingPathComponent("README.md")
        try Report.writeIndex(of: folder)
        #expect(try String(contentsOf: index, encoding: .utf8).contains("![hits](hits.svg)"))
    }

    @Test("A table of a report omits empty columns")
    func table() {
        let text = MarkdownTable(report([row(ratios: [0.5, 0.6, 0.7])])).text
        #expect(text.contains("| 1 KiB | ratio of requests/s |\n|---|---:|\n| Larder | 0.60 (0.50 to 0.70) |"))
    }
}
