import Foundation

/// The scripted origin behind all caches: `Benchmarks/bare/origin.c`.
struct Origin {
    let server: Server

    var port: UInt16 { server.port }

    init(_ bench: Bench) throws {
        let port = try unusedPort()
        let process = try bench.start(
            "origin", bench.program("origin"), [String(port), String(bench.cores)])
        server = Server(name: "origin", port: port, process: process)
        try server.waitUntilReady("/count")
    }

    /// The target of a body: `/1024/n17`, or `/json/1024/n17`.
    func target(_ size: Int, _ name: String, json: Bool = false) -> String {
        "\(json ? "/json" : "")/\(size)/\(name)"
    }

    /// The full URL of a target.
    func url(_ target: String) -> String {
        "http://127.0.0.1:\(port)\(target)"
    }

    /// The number of bodies that were requested from the origin so far.
    func requests() throws -> Int {
        let text = try server.connect().get("/count").text
        guard let count = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchmarkError("the origin's count is \(text)")
        }
        return count
    }
}
