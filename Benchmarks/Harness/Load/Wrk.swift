import Foundation

/// wrk, which generates the load with a script of `Benchmarks/wrk`.
struct Wrk {
    /// The number of threads of wrk. With a single thread, wrk is the bottleneck on two cores, and different servers
    /// would look alike: bare libmicrohttpd reached 65,000 hits of 1 KiB per second with one thread and 115,000 with
    /// two.
    static let threads = 2

    let bench: Bench

    /// Runs a script against a server for a number of whole seconds, because wrk accepts no fractions of a second.
    func run(_ script: String, _ arguments: [String], on port: UInt16, seconds: Int, connections: Int) throws -> Result
    {
        let log = bench.work.appendingPathComponent("wrk.log")
        let process = try ServerProcess(
            name: "wrk", executable: "wrk",
            arguments: [
                "--threads", String(Self.threads), "--connections", String(connections),
                "--duration", "\(seconds)s", "--timeout", "20s",
                "--script", bench.benchmarks.appendingPathComponent("wrk/\(script).lua").path,
                "http://127.0.0.1:\(port)", "--",
            ] + arguments, log: log)
        guard process.wait(seconds: Double(seconds) + 60) else {
            process.killNow()
            throw BenchmarkError("wrk did not end")
        }
        let output = try String(contentsOf: log, encoding: .utf8)
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("RESULT ") }) else {
            throw BenchmarkError("wrk: \(output)")
        }
        return try JSONDecoder().decode(Result.self, from: Data(line.dropFirst("RESULT ".count).utf8))
    }

    /// The output of `report.lua`, with times in microseconds.
    struct Result: Decodable {
        struct Failures: Decodable {
            var connect, read, write, status, timeout: Int

            var count: Int { connect + read + write + status + timeout }
        }

        var microseconds, requests: Int
        var p50, p99, p999: Int
        var failures: Failures

        var requestsPerSecond: Double { Double(requests) / (Double(microseconds) / 1e6) }
    }
}
