import Foundation

/// Counts the instructions of a hit with valgrind's callgrind: a figure that is the same on a busy machine.
///
/// A server runs once with as many hits on each of its targets, and then once for each target with twice as many on
/// that one. What starting, filling and ending cost is in every run; the difference is the hits alone.
struct InstructionCount {
    let bench: Bench
    private static let size = 1 << 10

    /// How many hits make the difference.
    private var hits: Int { bench.settings.isQuick ? 200 : 2000 }

    /// A row for each way to a body of 1 KiB, and for the bare server with the same fields.
    func rows() throws -> [Row] {
        let group = "instructions, \(ByteText.of(Self.size))"
        let paths = LarderPath.allCases
        let program = try withoutDebugInformation(bench.larder)
        var answers: [HTTPAnswer] = []
        let counts = try counts(paths.count) { folder, port in
            [program] + Larder.arguments(port, folder, [])
        } targets: { server in
            let targets = try paths.map { try $0.targets(["counted"], size: Self.size, on: server, bench)[0] }
            // What /fetch stores comes with the first request.
            for target in targets { _ = try server.connect().get(target) }
            answers = try targets.map { try server.connect().get($0) }
            return targets
        }
        var rows: [Row] = []
        for ((path, answer), count) in zip(zip(paths, answers), counts) {
            let bare = try self.counts(1) { _, port in
                [bench.program("bare")] + Bare.arguments(port, bench, size: Self.size, like: answer)
            } targets: { _ in
                ["/"]
            }[0]
            rows.append(row(group, path.bareName, bare))
            var own = row(group, path.larderName, count)
            own.baseline = path.bareName
            own.ratios[.instructionsPerRequest] = Series([count / bare])
            rows.append(own)
        }
        return rows
    }

    private func row(_ group: String, _ name: String, _ count: Double) -> Row {
        bench.note("\(name): \(Int(count)) instructions a request")
        return Row(
            group: group, name: name, values: [.instructionsPerRequest: Series([count])].compactMapValues(\.self))
    }

    /// The instructions of one hit on each of the targets. `command` gets a new folder and a port.
    private func counts(
        _ count: Int, command: (URL, UInt16) -> [String], targets: (Server) throws -> [String]
    ) throws -> [Double] {
        let base = try total(command, targets, again: nil)
        return try (0..<count).map { (try total(command, targets, again: $0) - base) / Double(hits) }
    }

    /// The instructions of a whole run, with twice the hits on one of the targets.
    private func total(
        _ command: (URL, UInt16) -> [String], _ targets: (Server) throws -> [String], again: Int?
    ) throws -> Double {
        let output = bench.work.appendingPathComponent("callgrind.out")
        let port = try unusedPort()
        let process = try bench.start(
            "callgrind", "valgrind",
            ["--tool=callgrind", "--callgrind-out-file=\(output.path)"] + command(bench.folder("counted"), port),
            environment: ["LD_PRELOAD": bench.program("valgrind.so")])
        let server = Server(name: "the server under valgrind", port: port, process: process)
        try server.waitUntilReady("/readyz")
        let connection = try server.connect()
        for (index, target) in try targets(server).enumerated() {
            for _ in 0..<(index == again ? 2 * hits : hits) {
                guard try connection.get(target).status == 200 else { throw BenchmarkError("\(target) is no hit") }
            }
        }
        process.stop()
        // The last line but comments: "totals: 123".
        for line in try String(contentsOf: output, encoding: .utf8).split(separator: "\n").reversed() {
            let words = line.split(separator: " ")
            if words.count > 1, words[0] == "totals:", let total = Double(words[1]) { return total }
        }
        throw BenchmarkError("callgrind wrote no total")
    }

    /// A copy of a program that valgrind can read: it gives up on what the Swift compiler writes for debuggers.
    private func withoutDebugInformation(_ program: String) throws -> String {
        let copy = bench.work.appendingPathComponent("larder-to-count").path
        let process = try bench.start("objcopy", "objcopy", ["--strip-debug", program, copy])
        guard process.wait(seconds: 60), FileManager.default.fileExists(atPath: copy) else {
            throw BenchmarkError("objcopy: \(process.lastWords)")
        }
        return copy
    }
}
