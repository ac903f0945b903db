import Foundation

/// Bare libmicrohttpd that sends one prepared response, the limit: `Benchmarks/bare/bare.c`.
enum Bare {
    /// Starts one that sends `size` bytes with the header fields of `answer`: the same bytes each time, or so many
    /// bodies in turns.
    static func start(_ bench: Bench, size: Int, bodies: Int = 1, like answer: HTTPAnswer) throws -> Server {
        let port = try unusedPort()
        let process = try bench.start(
            "bare", bench.program("bare"), arguments(port, bench, size: size, bodies: bodies, like: answer))
        let server = Server(name: "libmicrohttpd", port: port, process: process)
        try server.waitUntilReady("/")
        return server
    }

    /// Its command line, with all fields but those that the library sets itself.
    static func arguments(
        _ port: UInt16, _ bench: Bench, size: Int, bodies: Int = 1, like answer: HTTPAnswer
    ) -> [String] {
        let own: Set = ["content-length", "date", "connection", "transfer-encoding"]
        let fields = answer.fields.filter { !own.contains($0.name.lowercased()) }.map { "\($0.name): \($0.value)" }
        return [String(port), String(bench.cores), String(size), String(bodies)] + fields
    }
}
