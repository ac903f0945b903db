/// A proxy of libmicrohttpd and libcurl alone, the upper limit of misses: `Benchmarks/bare/proxy.c`.
enum BareProxy {
    /// Starts a proxy in front of the scripted origin.
    static func start(_ bench: Bench) throws -> Server {
        let port = try unusedPort()
        let origin = try bench.origin
        let process = try bench.start(
            "proxy", bench.program("proxy"), [String(port), String(bench.cores), String(origin.port)])
        let server = Server(name: "libmicrohttpd and libcurl", port: port, process: process)
        try server.waitUntilReady(origin.target(1, "ready"))
        return server
    }
}
