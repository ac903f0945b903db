import Foundation

/// HAProxy with its cache in memory: `Benchmarks/peers/haproxy.cfg`.
enum HAProxy {
    /// The largest value of `total-max-size`, in megabytes.
    private static let largestCache = 4095

    /// Starts HAProxy. `memory` is the limit of all bodies together and `largest` the length of the longest body, in
    /// bytes.
    static func start(_ bench: Bench, memory: Int, largest: Int) throws -> Server {
        let (port, origin) = (try unusedPort(), try bench.origin.port)
        let directory = try bench.folder("haproxy")
        let configuration = directory.appendingPathComponent("haproxy.cfg")
        try Template(
            "haproxy.cfg", in: bench,
            [
                "CORES": String(bench.cores), "PORT": String(port), "ORIGIN": String(origin),
                "MEMORY": String(min(largestCache, memory >> 20)), "OBJECT": String(largest + 4096),
            ]
        ).write(to: configuration)
        let process = try bench.start("haproxy", "/usr/sbin/haproxy", ["-db", "-f", configuration.path])
        let server = Server(name: "HAProxy", port: port, process: process)
        try server.waitUntilReady("/1/ready")
        return server
    }
}
