import Foundation

/// Hits beside many idle connections, and the memory of an idle connection.
struct Connections: BenchmarkPart {
    static let name = "connections"
    static let summary = """
        Hits of 1 KiB with and without idle keep-alive connections. The ratio is to the same server without idle \
        connections, in the same round. A round takes four times the seconds of other parts' rounds, in turns of one \
        second. The memory of a connection is the growth of the process's own memory, divided by the number of idle \
        connections.
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
                Contender(group: "idle connections", name: alone, isDivisible: true) { turn in
                    try bench.measure(server, "walk", [list.path, String(Wrk.threads)], seconds: turn.seconds)
                })
            contenders.append(
                Contender(
                    group: "idle connections", name: "\(server.name) beside \(count)", baseline: alone,
                    isDivisible: true
                ) { turn in
                    try Self.beside(count, server, target: targets[0]) {
                        try bench.measure(server, "walk", [list.path, String(Wrk.threads)], seconds: turn.seconds)
                    }
                })
        }
        return try bench.run(contenders, times: bench.settings.isQuick ? 1 : 4).map { row in
            var row = row
            if let memory = row.values[.memoryPerConnection] {
                row.values[.memoryPerConnection] = Series([memory.highest])
            }
            return row
        }
    }

    /// Calls `measure` while `count` connections are idle. The connections are opened before, and the server has closed
    /// them afterwards, so that the next turn has no idle connections.
    private static func beside(
        _ count: Int, _ server: Server, target: String, _ measure: () throws -> Sample
    ) throws -> Sample {
        let process = server.process
        let (memory, descriptors) = (ProcessUsage(of: process.id).anonymousBytes, try process.openDescriptors)
        let idle = try IdleConnections(count, to: server, target: target)
        let grown = ProcessUsage(of: process.id).anonymousBytes - memory
        var sample = try measure()
        let open = idle.openCount
        guard open == count else {
            throw BenchmarkError("\(server.name) closed \(count - open) of \(count) idle connections")
        }
        idle.closeAll()
        guard try process.wait(seconds: 10, until: { try process.openDescriptors <= descriptors }) else {
            throw BenchmarkError("\(server.name) keeps connections that their client has closed")
        }
        // Only the first turn shows the whole growth, because later turns reuse memory that the allocator got back.
        sample[.memoryPerConnection] = Double(grown) / Double(count)
        return sample
    }
}
