import Foundation

/// Hits, downloads and purges at once.
struct Mixed: BenchmarkPart {
    static let name = "mixed"
    static let summary = """
        95 % hits, 4 % downloads of new URLs, and 1 % purges of these downloads by tag, all of 1 KiB and over the \
        same connections. The ratio is to hits alone, in the same round.
        """

    func run(_ bench: Bench) throws -> [Row] {
        let size = 1 << 10
        let names = (0..<(bench.settings.isQuick ? 100 : 1000)).map { "mixed\($0)" }
        let larder = try Larder.start(bench, directory: bench.folder("larder"))
        let targets = try LarderPath.entries.targets(names, size: size, on: larder, bench)
        if let problem = try bench.fill(larder, targets, size: size) { throw BenchmarkError(problem) }
        let list = try bench.list(targets)
        let url = try bench.origin.url("/\(size)/miss")
        return try bench.run([
            Contender(group: "1 KiB", name: "Larder, hits alone") { _ in
                try bench.measure(larder, "walk", [list.path, String(Wrk.threads)])
            },
            Contender(group: "1 KiB", name: "Larder, mixed", baseline: "Larder, hits alone") { turn in
                let first = String(turn.round * 10_000_000)
                return try bench.measure(larder, "mixed", [list.path, String(Wrk.threads), first, url])
            },
        ])
    }
}
