import Foundation

/// The cost of storing and reading without HTTP. The defaults were chosen by these curves.
struct Storage: BenchmarkPart {
    static let name = "storage"
    static let summary = """
        Entries that 64 clients store at once and one client reads, without HTTP and without the memory tier. The \
        groups compare bodies in the slab and as files, by their size; page sizes of the index; lengths of its log \
        before a checkpoint; and the two kinds of durability. Each turn begins with an empty cache and lasts at most \
        two seconds, because its files stay until the part ends. The ratios are to the row with Larder's default.
        """

    private static let sizes = [1, 4, 8, 16, 32, 64, 128].map { $0 << 10 }
    /// An inline limit above every body size, which puts all bodies into the slab.
    private static let inline = ["--inline-limit", String(1 << 20)]
    private static let file = ["--inline-limit", "0"]

    func run(_ bench: Bench) throws -> [Row] {
        var contenders: [Contender] = []
        for size in Self.sizes {
            let group = "bodies of \(ByteText.of(size))"
            contenders += [
                contender(bench, group, "in the slab", size, Self.inline),
                contender(bench, group, "as files", size, Self.file, baseline: "in the slab"),
            ]
        }
        for size in [1 << 10, 16 << 10] {
            let group = "pages of the index, bodies of \(ByteText.of(size))"
            contenders += [4096, 8192, 16_384].map { pageSize in
                contender(
                    bench, group, ByteText.of(pageSize), size, Self.inline + ["--page-size", String(pageSize)],
                    baseline: pageSize == 4096 ? nil : ByteText.of(4096))
            }
            let checkpoints = "pages of log before a checkpoint, bodies of \(ByteText.of(size))"
            contenders += [1000, 4000, 16_000].map { pages in
                contender(
                    bench, checkpoints, String(pages), size, Self.inline + ["--checkpoint-pages", String(pages)],
                    baseline: pages == 4000 ? nil : "4000")
            }
        }
        for (name, kind) in [("in the slab", Self.inline), ("as files", Self.file)] {
            let group = "durability, bodies of \(ByteText.of(16 << 10)) \(name)"
            contenders += [
                contender(bench, group, "process", 16 << 10, kind),
                contender(bench, group, "power", 16 << 10, kind + ["--durability", "power"], baseline: "process"),
            ]
        }
        return try bench.run(contenders, ratios: [.storesPerSecond, .readsPerSecond])
    }

    private struct Result: Decodable {
        var stores, storeSeconds, reads, readSeconds: Double
    }

    private func contender(
        _ bench: Bench, _ group: String, _ name: String, _ size: Int, _ options: [String], baseline: String? = nil
    ) -> Contender {
        Contender(group: group, name: name, baseline: baseline) { _ in
            let program = bench.root.appendingPathComponent(".build/release/StorageBenchmark").path
            // Turns are short and slab folders are removed early, because turns of five seconds with slabs left more
            // than 76 GB.
            let seconds = min(bench.settings.seconds, 2)
            let folder = try bench.folder("storage")
            defer { if options.starts(with: Self.inline) { bench.remove(folder) } }
            let process = try bench.start(
                "storage", program,
                [folder.path, "--body-bytes", String(size), "--seconds", String(seconds)] + options)
            guard process.wait(seconds: Double(seconds) * 2 + 120),
                let result = try? JSONDecoder().decode(Result.self, from: Data(process.lastWords.utf8))
            else { throw BenchmarkError("StorageBenchmark: \(process.lastWords)") }
            bench.stopServers()
            return [
                .storesPerSecond: result.stores / result.storeSeconds,
                .readsPerSecond: result.reads / result.readSeconds,
            ]
        }
    }
}
