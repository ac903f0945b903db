import Foundation

/// Bare libmicrohttpd that sends a prepared response, the upper limit of hits: `Benchmarks/bare/bare.c`.
enum Bare {
    /// Starts a server that sends `size` bytes with the header fields of `answer`. The server sends `bodies` bodies in
    /// turn.
    static func start(_ bench: Bench, size: Int, bodies: Int = 1, like answer: HTTPAnswer) throws -> Server {
        let port = try unusedPort()
        let process = try bench.start(
            "bare", bench.program("bare"), arguments(port, bench, size: size, bodies: bodies, like: answer))
        let server = Server(name: "libmicrohttpd", port: port, process: process)
        try server.waitUntilReady("/")
        return server
    }

    /// The command line of the server, with all fields of `answer` except the fields that libmicrohttpd sets itself.
    static func arguments(
        _ port: UInt16, _ bench: Bench, size: Int, bodies: Int = 1, like answer: HTTPAnswer
    ) -> [String] {
        let own: Set = ["content-length", "date", "connection", "transfer-encoding"]
        let fields = answer.fields.filter { !own.contains($0.name.lowercased()) }.map { "\($0.name): \($0.value)" }
        return [String(port), String(bench.cores), String(size), String(bodies)] + fields
    }
}
