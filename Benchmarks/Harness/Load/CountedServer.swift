import Foundation

/// A server under valgrind's callgrind, which counts the instructions of all its threads: a figure that is the same on
/// a busy machine, and nearly the same on another one.
final class CountedServer {
    let server: Server
    private let bench: Bench
    private let output: String
    /// How many counts were taken: each has a file of its own.
    private var counts = 0

    /// Until then a request costs what only the first ones cost.
    private static let warmUp = 100

    /// Starts a server.
    ///
    /// - Parameter command: gets the port that it is to listen on.
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

    /// The instructions of one request, the mean of so many: what is counted between the first of them and the last.
    /// What starting, filling and ending cost is no part of it; what the server does by itself meanwhile is.
    ///
    /// - Parameter request: sends the request of that number and waits for its answer; each number comes once, from 0.
    func count(_ requests: Int, _ request: (Int) throws -> Void) throws -> Double {
        for number in 0..<Self.warmUp { try request(number) }
        _ = try takeCount()
        for number in Self.warmUp..<(Self.warmUp + requests) { try request(number) }
        return Double(try takeCount()) / Double(requests)
    }

    /// How many instructions there were since this was last asked, or the start.
    private func takeCount() throws -> Int {
        let control = try bench.start("callgrind_control", "callgrind_control", ["--dump", String(server.process.id)])
        guard control.wait(seconds: 60) else { throw BenchmarkError("callgrind_control: \(control.lastWords)") }
        counts += 1
        // It ends well although it has reached nobody.
        guard let dump = try? String(contentsOfFile: "\(output).\(counts)", encoding: .utf8) else {
            throw BenchmarkError("callgrind_control had nothing written: \(control.lastWords)")
        }
        // The last line but comments is "totals: 123".
        for line in dump.split(separator: "\n").reversed() {
            let words = line.split(separator: " ")
            if words.count > 1, words[0] == "totals:", let total = Int(words[1]) { return total }
        }
        throw BenchmarkError("callgrind wrote no total")
    }
}
