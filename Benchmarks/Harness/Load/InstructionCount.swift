import Foundation

/// Counts the instructions of a hit with valgrind's callgrind: a figure that is the same on a busy machine.
///
/// Each server runs twice, for so many hits and for twice as many. What starting and ending cost is in both, and the
/// difference is the hits alone.
struct InstructionCount {
    let bench: Bench
    private static let size = 1 << 10

    /// The hits of the shorter run.
    private var hits: Int { bench.settings.isQuick ? 200 : 2000 }

    /// A row for each way to a body of 1 KiB.
    func rows() throws -> [Row] {
        let group = "instructions, \(ByteText.of(Self.size))"
        let larderProgram = try withoutDebugInformation(bench.larder)
        var rows: [Row] = []
        for path in LarderPath.allCases {
            var answer: HTTPAnswer?
            let larder = try count("Larder") { folder, port in
                ([larderProgram] + Larder.arguments(port, folder, []), "/readyz")
            } target: { server in
                let target = try path.targets(["counted"], size: Self.size, on: server, bench)[0]
                _ = try server.connect().get(target)
                answer = try server.connect().get(target)
                return target
            }
            guard let answer else { continue }
            let bare = try count("libmicrohttpd") { _, port in
                ([bench.program("bare")] + Bare.arguments(port, bench, size: Self.size, like: answer), "/")
            } target: { _ in
                "/"
            }
            rows.append(Row(group: group, name: path.bareName, values: [.instructionsPerRequest: bare]))
            rows.append(
                Row(
                    group: group, name: path.larderName, baseline: path.bareName,
                    values: [.instructionsPerRequest: larder], ratio: Series([larder.median / bare.median])))
        }
        return rows
    }

    /// The instructions of one hit. `command` gets a new folder and a port, and says how to start the server and what
    /// to ask until it answers; `target` makes it hold something and says how to ask for it.
    private func count(
        _ name: String, command: (URL, UInt16) throws -> (line: [String], ready: String),
        target: (Server) throws -> String
    ) throws -> Series {
        var totals: [Double] = []
        for hits in [hits, 2 * hits] {
            let folder = try bench.folder("counted")
            let output = bench.work.appendingPathComponent("callgrind.out")
            let port = try unusedPort()
            let (line, ready) = try command(folder, port)
            let process = try bench.start(
                "callgrind", "valgrind", ["--tool=callgrind", "--callgrind-out-file=\(output.path)"] + line,
                environment: ["LD_PRELOAD": bench.program("valgrind.so")])
            let server = Server(name: "\(name) under valgrind", port: port, process: process)
            try server.waitUntilReady(ready)
            let asked = try target(server)
            let connection = try server.connect()
            for _ in 0..<hits {
                guard try connection.get(asked).status == 200 else { throw BenchmarkError("\(asked) is no hit") }
            }
            process.stop()
            totals.append(try Self.total(output))
        }
        let instructions = (totals[1] - totals[0]) / Double(hits)
        bench.note("\(name): \(Int(instructions)) instructions a request")
        guard let series = Series([instructions]) else {
            throw BenchmarkError("callgrind counted nothing")
        }
        return series
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

    /// The number after `summary:` or `totals:`.
    private static func total(_ file: URL) throws -> Double {
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n").reversed() {
            let words = line.split(separator: " ")
            if words.count > 1, words[0] == "totals:" || words[0] == "summary:", let count = Double(words[1]) {
                return count
            }
        }
        throw BenchmarkError("callgrind wrote no total")
    }
}
