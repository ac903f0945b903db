import Foundation

/// The cost of requests in instructions.
struct Instructions: BenchmarkPart {
    static let name = "instructions"
    static let summary = """
        Instructions per request, which valgrind's callgrind counts in all threads of the server while one client \
        sends requests: hits beside bare libmicrohttpd with the same header fields, and other requests. callgrind \
        counts the clearing of memory byte by byte, and digests without the special instructions of newer \
        processors. The counts are the same however busy the machine is.
        """

    private static let size = 1 << 10

    func run(_ bench: Bench) throws -> [Row] {
        let requests = bench.settings.isQuick ? 100 : 1000
        let program = try withoutDebugInformation(bench)
        let counted = try larder(bench, program, "larder", [])
        let connection = try counted.server.connect()
        func ask(_ target: String, by method: String = "GET", body: Data = Data()) throws {
            let answer = try connection.send(method, target, body: body)
            guard (200...299).contains(answer.status) else { throw BenchmarkError("\(target): \(answer.status)") }
        }
        var rows: [Row] = []
        for path in LarderPath.allCases {
            let target = try path.targets(["counted"], size: Self.size, on: counted.server, bench)[0]
            // With /fetch, the first request stores the response.
            try ask(target)
            let bare = try bareCount(bench, requests, like: connection.get(target))
            rows.append(row(bench, "hits", path.bareName, bare))
            rows.append(
                row(
                    bench, "hits", path.larderName, try counted.count(requests) { _ in try ask(target) },
                    to: (path.bareName, bare)))
        }
        let body = Data(repeating: UInt8(ascii: "x"), count: Self.size)
        let puts = try counted.count(requests) { try ask("/entries/counted-\($0)/content", by: "PUT", body: body) }
        rows.append(row(bench, "others", "PUT", puts))
        let origin = try bench.origin
        let misses = try counted.count(requests) {
            try ask("/fetch/\(origin.url(origin.target(Self.size, "missed-\($0)")))")
        }
        rows.append(row(bench, "others", "miss", misses))
        bench.stopServers()
        rows.append(row(bench, "others", "hit on disk", try diskHits(bench, program, requests)))
        return rows
    }

    /// The instructions of a hit on disk. The server has hardly any memory for bodies, and each request is for another
    /// entry.
    private func diskHits(_ bench: Bench, _ program: String, _ requests: Int) throws -> Double {
        let counted = try larder(bench, program, "larder-disk", ["--memory-limit", "64KiB"])
        let connection = try counted.server.connect()
        let body = Data(repeating: UInt8(ascii: "x"), count: Self.size)
        let count = 1000
        for number in 0..<count {
            let answer = try connection.send("PUT", "/entries/counted-\(number)/content", body: body)
            guard answer.status == 200 else { throw BenchmarkError("filling: \(answer.status)") }
        }
        return try counted.count(requests) { number in
            let answer = try connection.get("/entries/counted-\(number % count)/content")
            guard answer.status == 200 else { throw BenchmarkError("a hit on disk: \(answer.status)") }
        }
    }

    private func larder(
        _ bench: Bench, _ program: String, _ name: String, _ limits: [String]
    ) throws -> CountedServer {
        let folder = try bench.folder(name)
        return try CountedServer(bench, name) { [program] + Larder.arguments($0, folder, limits) }
    }

    private func bareCount(_ bench: Bench, _ requests: Int, like answer: HTTPAnswer) throws -> Double {
        let counted = try CountedServer(bench, "libmicrohttpd") {
            [bench.program("bare")] + Bare.arguments($0, bench, size: Self.size, like: answer)
        }
        let connection = try counted.server.connect()
        return try counted.count(requests) { _ in
            guard try connection.get("/").status == 200 else { throw BenchmarkError("libmicrohttpd: no 200") }
        }
    }

    private func row(
        _ bench: Bench, _ group: String, _ name: String, _ count: Double,
        to baseline: (name: String, count: Double)? = nil
    ) -> Row {
        bench.note("\(group), \(name): \(Int(count)) instructions a request")
        var row = Row(
            group: "\(group), \(ByteText.of(Self.size))", name: name, baseline: baseline?.name,
            values: [.instructionsPerRequest: Series([count])].compactMapValues(\.self))
        if let baseline { row.ratios[.instructionsPerRequest] = Series([count / baseline.count]) }
        return row
    }

    /// A copy of Larder without debug information, because valgrind cannot read the debug information of the Swift
    /// compiler.
    private func withoutDebugInformation(_ bench: Bench) throws -> String {
        let copy = bench.work.appendingPathComponent("larder-to-count").path
        let process = try bench.start("objcopy", "objcopy", ["--strip-debug", bench.larder, copy])
        guard process.wait(seconds: 60), FileManager.default.fileExists(atPath: copy) else {
            throw BenchmarkError("objcopy: \(process.lastWords)")
        }
        return copy
    }
}
