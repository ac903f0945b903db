import Foundation

/// Hits of a cache that is much larger than its memory tier.
struct Disk: BenchmarkPart {
    static let name = "disk"
    static let summary = """
        Hits on entries of 1 KiB that take many times the memory tier of 64 MiB, beside nginx with the same entries. \
        Before each round, all files of the server are read into the page cache, or dropped from it in the group \
        with none in the page cache. With a full page cache, a round consists of turns of one second, and the \
        servers alternate. The last group times hits from memory, with few entries (on two equal servers) and with \
        many entries on disk. Its ratios are of times. Two clients send each request after the answer to their \
        previous request, in turns of 10 ms and in rounds four times as long.
        """

    private static let memory = ["--memory-limit", "64MiB"]

    func run(_ bench: Bench) throws -> [Row] {
        let large = try bench.dataset(Dataset.large(bench))
        let larder = try Larder.start(bench, directory: large.directory, Self.memory)
        let folder = try bench.folder("nginx")
        let nginx = try Nginx.start(bench, directory: folder)
        bench.note("filling nginx with \(large.count) entries, and asking Larder for each")
        try askForAll(of: [(nginx, Self.nginxTarget), (larder, Dataset.target)], large.count)
        // The writes of the filling must be on the disk before hits are measured.
        sync()
        let rivals = [
            Rival(
                server: nginx, prefix: "/\(Dataset.bodyBytes)/entry-", suffix: "", baseline: nil,
                files: try PageCache.files(in: folder)),
            Rival(
                server: larder, prefix: "/entries/entry-", suffix: "/content", baseline: nginx.name,
                files: try PageCache.files(in: large.directory)),
        ]
        let entries = "\(large.count) entries"
        var rows = try bench.run(
            KeySequence.allCases.flatMap { order in
                try contenders(bench, rivals, "\(order.rawValue), \(entries)", order.file(large.count, bench), .full)
            })
        // This group runs separately, because the contenders above would have to read all their files again.
        rows += try bench.run(
            contenders(
                bench, rivals, "uniform, \(entries), none in the page cache",
                KeySequence.uniform.file(large.count, bench), .empty))
        bench.stopServers()
        return try rows + memoryHits(bench, large)
    }

    /// A server that answers from the disk, and its files.
    private struct Rival {
        var server: Server
        /// The texts before and after the number of an entry in its target.
        var (prefix, suffix): (String, String)
        var baseline: String?
        var files: [String]
    }

    private func contenders(
        _ bench: Bench, _ rivals: [Rival], _ group: String, _ order: URL, _ pageCache: PageCache
    ) -> [Contender] {
        rivals.map { rival in
            Contender(
                group: group, name: rival.server.name, baseline: rival.baseline, isDivisible: pageCache == .full
            ) { turn in
                if turn.number == 0 { try pageCache.prepare(rival.files) }
                // Each turn starts behind any possible end of the last turn, at the same place for all servers.
                let start = String(turn.index * turn.seconds * 40_000)
                return try bench.measure(
                    rival.server, "sequence", [order.path, String(Wrk.threads), start, rival.prefix, rival.suffix],
                    seconds: turn.seconds)
            }
        }
    }

    private static func nginxTarget(_ number: Int) -> String { "/\(Dataset.bodyBytes)/entry-\(number)" }

    /// Requests every entry from every server, so that a proxy stores the entries. Each entry is requested from one
    /// server after the other, so that all servers are filled during the same time.
    private func askForAll(of servers: [(server: Server, target: @Sendable (Int) -> String)], _ count: Int) throws {
        let places = servers.map { ($0.server.port, $0.target) }
        try inParallel(64, Array(0..<count)) { numbers in
            let connections = try places.map { port, target in (try HTTPConnection(port: port), target) }
            for number in numbers {
                for (connection, target) in connections {
                    let answer = try connection.get(target(number))
                    guard answer.status == 200 else { throw BenchmarkError("entry \(number): \(answer.status)") }
                }
            }
        }
    }

    /// Times hits on the same thousand entries, in a cache of a thousand entries and in a cache of many entries. A
    /// second cache of a thousand entries shows the noise of the machine, because its server is equal to the first.
    private func memoryHits(_ bench: Bench, _ large: Dataset) throws -> [Row] {
        let small = try bench.dataset(1000)
        let same = try bench.dataset(1000, copy: 1)
        let targets = (0..<small.count).map(Dataset.target)
        let first = "out of \(small.count)"
        let group = "memory hits of \(small.count) entries, one by one"
        var (timers, heads): ([HitTimer], [Row]) = ([], [])
        for (name, dataset) in [(first, small), ("\(first), another server", same), ("out of \(large.count)", large)] {
            let server = try Larder.start(bench, directory: dataset.directory, Self.memory)
            let connection = try server.connect()
            for _ in 0..<2 {
                for target in targets { _ = try connection.get(target) }
            }
            timers.append(HitTimer(port: server.port, targets: targets, bodyBytes: Dataset.bodyBytes))
            heads.append(Row(group: group, name: name, baseline: name == first ? nil : first))
        }
        return try bench.time(timers, heads, ratios: [.p50, .p99])
    }
}
