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

    /// A row with a ratio of requests/s.
    private func row(_ group: String, _ name: String, _ ratio: Double) -> Row {
        Row(group: group, name: name, baseline: "other", ratios: [.requestsPerSecond: Series([ratio])!])
    }

    @Test("The README shows the results of the last measurement exactly")
    func shownAsMeasured() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let reports = try Report.all(in: Self.root.appendingPathComponent("Benchmarks/results"))
        #expect(!reports.isEmpty)
        #expect(ReadmeSection(reports).placed(in: readme) == readme)
    }

    @Test("The README section begins with the plot of the hits; then it lists the ratios of Larder and other servers")
    func hits() {
        let hits = report(
            "hits",
            [
                row("1 KiB", "Larder /fetch", 0.99), row("1 KiB", "Larder /json", 0.98),
                row("1 KiB", "nginx", 0.75), row("64 KiB", "Larder /fetch", 0.87),
            ])
        let text = ReadmeSection([hits]).text
        #expect(text.hasPrefix("![Hits of Larder and other servers](Benchmarks/results/hits.svg)\n\n- **Hits"))
        #expect(text.contains("bare libmicrohttpd: Larder /fetch 0.99 (1 KiB), 0.87 (64 KiB); nginx 0.75 (1 KiB).\n"))
        #expect(text.contains("(\(hits.date.prefix(10)), commit abc, 2 cores, any)"))
    }

    @Test("In the README, the lines for misses, stores and disk hits show a ratio and the server compared with")
    func misses() {
        let fill = report(
            "fill",
            [
                row("misses, 1 KiB", "Larder /fetch", 0.5), row("misses, 1 KiB", "libmicrohttpd and libcurl", 2),
                row("stores, 1 KiB", "Larder PUT", 0.67),
            ])
        let disk = report("disk", [row("Zipf, 1000000 entries", "Larder", 1.4)])
        let text = ReadmeSection([fill, disk]).text
        #expect(text.contains("- **Misses**, in requests/s as a ratio to nginx: Larder /fetch 0.50 (1 KiB).\n"))
        let hits = "hits as a ratio to nginx 1.40 (Zipf, 1000000 entries)"
        #expect(text.contains("- **Disk**, in requests/s: \(hits); stores as a ratio to bare SQLite 0.67 (1 KiB).\n"))
    }

    @Test("Memory is shown for an idle connection and for all entries")
    func memory() {
        let alone = Row(group: "idle connections", name: "Larder alone", values: [.anonymousMemory: Series([1])!])
        let beside = Row(
            group: "idle connections", name: "Larder beside 10", values: [.memoryPerConnection: Series([2048])!])
        let disk = Row(group: "10 entries", name: "Larder", values: [.anonymousMemory: Series([3_145_728])!])
        let text = ReadmeSection([report("connections", [alone, beside]), report("disk", [disk])]).text
        let connection = "2.0 KiB for an idle connection"
        #expect(text.contains("of the process: \(connection); 3 MiB in all, with the memory tier (10 entries).\n"))
    }

    @Test("The line for pages shows captures, hits of replays, and the rewriting of ordinary documents")
    func pages() {
        let captures = Row(
            group: "captures, 50 resources of 1 KiB", name: "Larder POST /pages",
            values: [.pagesPerSecond: Series([81.25])!])
        let ordinary = Row(
            group: Pages.ordinaryDocuments, name: "article", values: [.rewrittenPerSecond: Series([250e6])!])
        let hostile = Row(group: "hostile", name: "1 MB of <", values: [.rewrittenPerSecond: Series([100e6])!])
        let text = ReadmeSection([
            report("pages", [captures, row("hits, images of 1 KiB", Pages.replay, 0.5), ordinary, hostile])
        ]).text
        #expect(
            text.contains(
                """
                - **Pages**: static captures in pages/s 81.2 (50 resources of 1 KiB); hits of replays in requests/s as a \
                ratio to hits of /entries 0.50 (images of 1 KiB); documents rewritten in one thread in MB/s 250 (article).

                """))
    }

    @Test("A README section without measured figures is empty")
    func empty() {
        #expect(ReadmeSection([]).text.isEmpty)
        #expect(ReadmeSection([report("hits", []), report("eviction", [])]).text.isEmpty)
    }

    @Test("A README without the two comments around the benchmark section is not changed")
    func noPlace() {
        #expect(ReadmeSection([]).placed(in: "# Larder\n") == nil)
    }
}
