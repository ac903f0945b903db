import Foundation

/// The time from the start of the program to the first hit.
struct Start: BenchmarkPart {
    static let name = "start"
    static let summary = """
        The time from the start of the executable to its first hit: with few entries, with many entries, and with \
        many entries after a kill -9 during stores.
        """

    func run(_ bench: Bench) throws -> [Row] {
        let small = try bench.dataset(1000)
        let large = try bench.dataset(Dataset.large(bench))
        let contenders = [
            Contender(group: "start", name: "\(small.count) entries") { _ in try start(bench, small) },
            Contender(group: "start", name: "\(large.count) entries") { _ in try start(bench, large) },
            Contender(group: "start", name: "\(large.count) entries, after a kill -9 under load") { turn in
                try killUnderLoad(bench, large, turn.round)
                return try start(bench, large)
            },
        ]
        return try bench.run(contenders, ratios: [.startSeconds])
    }

    private func start(_ bench: Bench, _ dataset: Dataset) throws -> Sample {
        let port = try unusedPort()
        let start = ContinuousClock.now
        let process = try bench.start("larder", bench.larder, Larder.arguments(port, dataset.directory, []))
        defer { process.stop() }
        let target = Dataset.target(dataset.count / 2)
        while true {
            if let answer = try? HTTPConnection(port: port).get(target) {
                guard answer.status == 200, answer.body.count == Dataset.bodyBytes else {
                    throw BenchmarkError("the first answer after a start: \(answer.status)")
                }
                let elapsed = start.duration(to: .now)
                let usage = ProcessUsage(of: process.id)
                return [
                    .startSeconds: elapsed / .seconds(1),
                    .peakMemory: Double(usage.peakBytes), .anonymousMemory: Double(usage.anonymousBytes),
                ]
            }
            guard process.isRunning, start.duration(to: .now) < .seconds(120) else {
                throw BenchmarkError("Larder did not start\n\(process.lastWords)")
            }
            usleep(500)
        }
    }

    /// Starts a server, and kills it while it stores entries.
    private func killUnderLoad(_ bench: Bench, _ dataset: Dataset, _ round: Int) throws {
        let server = try Larder.start(bench, directory: dataset.directory)
        let load = try bench.start(
            "wrk", "wrk",
            [
                "--threads", "1", "--connections", String(bench.settings.connections), "--duration", "60s",
                "--script", bench.benchmarks.appendingPathComponent("wrk/fresh.lua").path,
                "http://127.0.0.1:\(server.port)", "--",
                "PUT", String(round * 10_000_000), "1", String(Dataset.bodyBytes), "/entries/killed-",
                "/content?ttl=60",
            ])
        sleep(UInt32(bench.settings.seconds))
        server.process.killNow()
        load.killNow()
    }
}
