import Foundation

/// Varnish with its cache in memory: `Benchmarks/peers/varnish.vcl` and `varnish.args`.
enum Varnish {
    /// Starts Varnish. `memory` is the limit of all bodies together, in bytes.
    static func start(_ bench: Bench, memory: Int) throws -> Server {
        let (port, origin) = (try unusedPort(), try bench.origin.port)
        let directory = try bench.folder("varnish")
        let values = [
            "CORES": String(bench.cores), "PORT": String(port), "ORIGIN": String(origin),
            "DIRECTORY": directory.path, "MEMORY": "\(memory >> 20)m",
        ]
        try Template("varnish.vcl", in: bench, values).write(to: directory.appendingPathComponent("varnish.vcl"))
        let arguments = try Template("varnish.args", in: bench, values).arguments
        let process = try bench.start("varnish", "/usr/sbin/varnishd", arguments)
        let server = Server(name: "Varnish", port: port, process: process)
        try server.waitUntilReady("/1/ready")
        return server
    }
}
