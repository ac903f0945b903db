import Foundation

/// Misses, stores of callers, and batches. Each turn begins with an empty cache.
struct Fill: BenchmarkPart {
    static let name = "fill"
    static let summary = """
        Misses of /fetch from a fast origin, beside nginx, and beside a proxy of libmicrohttpd and libcurl alone, \
        which checks and keeps no answer and shows the upper limit of the two libraries. Stores of callers' data, \
        beside bare SQLite, which groups its transactions in the same way, without HTTP. Batches of downloads. Every \
        turn begins with an empty cache.
        """

    private static let batch = 100

    func run(_ bench: Bench) throws -> [Row] {
        var contenders: [Contender] = []
        for size in [1 << 10, 16 << 10, 1 << 20] {
            let group = "misses, \(ByteText.of(size))"
            contenders.append(
                Contender(group: group, name: "nginx") { [self] _ in
                    try turn(bench, Nginx.start(bench), "fresh", ["GET", "0", threads, "0", "/\(size)/miss"])
                })
            contenders.append(
                Contender(group: group, name: "Larder /fetch", baseline: "nginx") { [self] _ in
                    let url = try bench.origin.url("/\(size)/miss")
                    return try larder(bench, "fresh", ["GET", "0", threads, "0", "/fetch/\(url)"])
                })
            contenders.append(
                Contender(group: group, name: "libmicrohttpd and libcurl", baseline: "nginx") { [self] _ in
                    try turn(bench, BareProxy.start(bench), "fresh", ["GET", "0", threads, "0", "/\(size)/miss"])
                })
        }
        contenders += stores(bench)
        contenders.append(
            Contender(group: "batches of \(Self.batch) downloads, 1 KiB", name: "Larder POST /downloads") { [self] _ in
                let url = try bench.origin.url("/1024/batch")
                var sample = try larder(bench, "batch", ["0", threads, String(Self.batch), url])
                let rate = sample.removeValue(forKey: .requestsPerSecond) ?? 0
                sample[.entriesPerSecond] = rate * Double(Self.batch)
                return sample
            })
        return try bench.run(contenders)
    }

    private func stores(_ bench: Bench) -> [Contender] {
        let group = "stores, 1 KiB"
        return [
            Contender(group: group, name: "SQLite") { _ in try BareSQLite.run(bench, bodyBytes: 1 << 10) },
            Contender(group: group, name: "Larder PUT", baseline: "SQLite") { [self] _ in
                let target = ["/entries/store-", "/content?ttl=86400"]
                return try larder(bench, "fresh", ["PUT", "0", threads, "1024"] + target)
            },
        ]
    }

    private var threads: String { String(Wrk.threads) }

    /// Measures a turn of a new Larder with an empty cache.
    private func larder(_ bench: Bench, _ script: String, _ arguments: [String]) throws -> Sample {
        let directory = try bench.folder("larder")
        return try turn(bench, Larder.start(bench, directory: directory), script, arguments)
    }

    /// Measures a turn of a server that was started for the turn, and stops the server.
    private func turn(_ bench: Bench, _ server: Server, _ script: String, _ arguments: [String]) throws -> Sample {
        defer { bench.stopServers() }
        // The writes of earlier turns must be on the disk before the turn.
        sync()
        var sample = try bench.measure(server, script, arguments)
        let asked = sample.removeValue(forKey: .originRequests) ?? 0
        // A request that did not reach the origin was not a miss.
        let requests = (sample[.requestsPerSecond] ?? 0) * Double(bench.settings.seconds)
        let isFromOrigin = arguments[0] != "PUT"
        if isFromOrigin, asked < requests * 0.9 {
            throw BenchmarkError("\(server.name): \(Int(asked)) requests reached the origin, of \(Int(requests))")
        }
        return sample
    }
}

/// The upper limit of acknowledged stores, by SQLite with Larder's way of grouping: `Benchmarks/bare/sqlite.c`.
enum BareSQLite {
    private struct Result: Decodable {
        var rows, transactions: Double
        var seconds: Double
    }

    /// Runs the program with an empty database.
    static func run(_ bench: Bench, bodyBytes: Int) throws -> Sample {
        let file = try bench.folder("sqlite").appendingPathComponent("bare.sqlite")
        let settings = bench.settings
        sync()
        let process = try bench.start(
            "sqlite", bench.program("sqlite"),
            [file.path, String(settings.connections), String(settings.seconds), String(bodyBytes), "normal"])
        guard process.wait(seconds: Double(settings.seconds) + 60),
            let result = try? JSONDecoder().decode(Result.self, from: Data(process.lastWords.utf8))
        else { throw BenchmarkError("sqlite: \(process.lastWords)") }
        bench.stopServers()
        return [.requestsPerSecond: result.rows / result.seconds]
    }
}
