import Foundation

/// A server under valgrind's callgrind, which counts the instructions of all threads of the server. The count is the
/// same on a busy machine, and nearly the same on another machine.
final class CountedServer {
    let server: Server
    private let bench: Bench
    private let output: String
    /// The number of counts that were taken. Each count has its own file.
    private var counts = 0

    /// The number of requests before the count starts, because the first requests have extra costs.
    private static let warmUp = 100

    /// Starts a server under callgrind.
    ///
    /// - Parameter command: returns the command line of the server for the port on which it must listen.
    init(_ bench: Bench, _ name: String, command: (UInt16) throws -> [String]) throws {
        self.bench = bench
        let port = try unusedPort()
        output = bench.work.appendingPathComponent("callgrind-\(port)").path
        let process = try bench.start(
            "callgrind", "valgrind",
            ["--tool=callgrind", "--callgrind-out-file=\(output)"] + command(port),
            environment: ["LD_PRELOAD": bench.program("valgrind.so")])
        server = Server(name: name, port: port, process: process)
        try server.waitUntilReady("/readyz")
    }

    /// The mean number of instructions of a request, counted from the first to the last of `requests` requests. The
    /// count excludes starting, filling and ending the server, and includes the background work of the server between
    /// the requests.
    ///
    /// - Parameter request: sends the request of the given number and waits for its answer. Each number is used once,
    ///   from 0.
    func count(_ requests: Int, _ request: (Int) throws -> Void) throws -> Double {
        for number in 0..<Self.warmUp { try request(number) }
        _ = try takeCount()
        for number in Self.warmUp..<(Self.warmUp + requests) { try request(number) }
        return Double(try takeCount()) / Double(requests)
    }

    /// The number of instructions since the previous call, or since the start.
    private func takeCount() throws -> Int {
        let control = try bench.start("callgrind_control", "callgrind_control", ["--dump", String(server.process.id)])
        guard control.wait(seconds: 60) else { throw BenchmarkError("callgrind_control: \(control.lastWords)") }
        counts += 1
        // callgrind_control exits with success even if it has reached no process.
        guard let dump = try? String(contentsOfFile: "\(output).\(counts)", encoding: .utf8) else {
            throw BenchmarkError("callgrind wrote no counts: \(control.lastWords)")
        }
        // The last line that is not a comment is "totals: 123".
        for line in dump.split(separator: "\n").reversed() {
            let words = line.split(separator: " ")
            if words.count > 1, words[0] == "totals:", let total = Int(words[1]) { return total }
        }
        throw BenchmarkError("callgrind wrote no total")
    }
}
