import Foundation

/// Hits beside many idle connections, and what such a connection costs.
struct Connections: BenchmarkPart {
    static let name = "connections"
    static let summary = """
        Hits of 1 KiB with and without idle keep-alive connections beside them. The ratio is to the same server \
        without them, in the same round; what an idle connection costs is what the process's own memory grew by.
        """

    func run(_ bench: Bench) throws -> [Row] {
        let count = bench.settings.isQuick ? 2000 : 10_000
        let keys = (0..<(bench.settings.isQuick ? 100 : 1000)).map { "idle\($0)" }
        let larder = try Larder.start(bench, directory: bench.folder("larder"))
        let targets = try LarderPath.entries.targets(keys, size: 1 << 10, on: larder, bench)
        if let problem = try bench.fill(larder, targets, size: 1 << 10) { throw BenchmarkError(problem) }
        let bare = try Bare.start(bench, size: 1 << 10, like: larder.connect().get(targets[0]))
        let list = try bench.list(targets)

        var contenders: [Contender] = []
        for server in [bare, larder] {
            let alone = "\(server.name) alone"
            contenders.append(
                Contender(group: "idle connections", name: alone) { _ in
                    try bench.measure(server, "walk", [list.path, String(Wrk.threads)])
                })
            contenders.append(
                Contender(
                    group: "idle connections", name: "\(server.name) beside \(count)", baseline: alone
                ) { _ in
                    let before = ProcessUsage(of: server.process.id)
                    let idle = try IdleConnections(count, to: server, target: targets[0])
                    let after = ProcessUsage(of: server.process.id)
                    var sample = try bench.measure(server, "walk", [list.path, String(Wrk.threads)])
                    let open = idle.openCount
                    guard open == count else {
                        throw BenchmarkError("\(server.name) closed \(count - open) of \(count) idle connections")
                    }
                    idle.closeAll()
                    // Memory that an earlier round gave back to the allocator is used again: the first round tells.
                    sample[.memoryPerConnection] = Double(after.anonymousBytes - before.anonymousBytes) / Double(count)
                    return sample
                })
        }
        return try bench.run(contenders).map { row in
            var row = row
            if let memory = row.values[.memoryPerConnection] {
                row.values[.memoryPerConnection] = Series([memory.highest])
            }
            return row
        }
    }
}
