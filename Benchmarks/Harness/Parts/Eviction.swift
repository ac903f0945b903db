import Foundation
import TraceReplay

/// The misses of both tiers on request traces, beside the ratios that were published with the traces.
struct Eviction: BenchmarkPart {
    static let name = "eviction"
    static let summary = """
        Request traces, replayed through the eviction code of both tiers: the share of requests that miss, in a \
        cache of 1 % or 10 % of the bytes of all requested objects. The ratio is of object misses, to the best ratio \
        that was published with the traces (the other rows). The last row has a tenth of the cache pinned.
        """

    /// The sizes of the cache, in percent of the footprint of a trace.
    private static let shares = [1, 10]

    func run(_ bench: Bench) throws -> [Row] {
        guard let folder = Self.folder(bench) else {
            bench.note("there are no traces in ../shared/traces, and --traces names none")
            return []
        }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let readme = (try? String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)) ?? ""
        let published = PublishedRatios(markdown: readme)
        var rows: [Row] = []
        for file in files.sorted(by: { $0.path < $1.path }) where file.lastPathComponent.contains(".txt") {
            let name = String(file.lastPathComponent.prefix { $0 != "." })
            let trace = try Trace(contentsOf: file)
            for share in Self.shares {
                bench.note("\(name), \(share) %")
                rows += try self.rows(bench, name, trace, share, published.ratios(of: name, percent: share))
            }
        }
        return rows
    }

    /// The folder that `--traces` names, else `shared/traces` beside the repository. `nil` if the folder does not
    /// exist.
    private static func folder(_ bench: Bench) -> URL? {
        let beside = bench.root.deletingLastPathComponent().appendingPathComponent("shared/traces")
        let folder = bench.traces ?? beside
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }

    private func rows(
        _ bench: Bench, _ name: String, _ trace: Trace, _ share: Int, _ published: [PublishedRatios.Ratio]
    ) throws -> [Row] {
        let capacity = trace.footprint * share / 100
        let memory = EvictionReplay.memoryTier(trace, capacity: capacity)
        let disk = try EvictionReplay.diskTier(
            trace, capacity: capacity, directory: bench.folder("replay").path + "/cache")
        let pinned = try EvictionReplay.diskTier(
            trace, capacity: capacity, directory: bench.folder("replay").path + "/cache", pinnedShare: 0.1)
        let best = published.min { $0.objects < $1.objects }
        func row(_ tier: String, _ sample: Sample, isHeld: Bool = true) -> Row {
            let baseline = isHeld ? best : nil
            var ratios: [Metric: Series] = [:]
            if let baseline, let misses = sample[.objectMisses] {
                ratios[.objectMisses] = Series([misses / baseline.objects])
            }
            return Row(
                group: "\(name), \(share) %", name: tier, baseline: baseline.map { "\($0.policy), published" },
                values: Row.values(of: [sample]), ratios: ratios)
        }
        return published.map { ratio in
            var sample: Sample = [.objectMisses: ratio.objects]
            sample[.byteMisses] = ratio.bytes
            return row("\(ratio.policy), published", sample, isHeld: false)
        } + [
            row("memory tier", [.objectMisses: memory.objectMissRatio, .byteMisses: memory.byteMissRatio]),
            row(
                "disk tier",
                [
                    .objectMisses: disk.objectMissRatio, .byteMisses: disk.byteMissRatio,
                    .policyMemory: Double(disk.policyBytes) / Double(disk.entries),
                ]),
            row(
                "disk tier, some pinned",
                [
                    .objectMisses: pinned.objectMissRatio, .byteMisses: pinned.byteMissRatio,
                    .pinned: Double(pinned.pinned), .pinnedLost: Double(pinned.pinnedLost),
                ], isHeld: false),
        ]
    }
}
