import Foundation

/// Apache Traffic Server: `Benchmarks/peers/trafficserver`.
enum TrafficServer {
    /// Starts Traffic Server. `memory` is the limit of the bodies in memory, in bytes. The disk cache is twice as
    /// large.
    static func start(_ bench: Bench, memory: Int) throws -> Server {
        let (port, origin) = (try unusedPort(), try bench.origin.port)
        let directory = try bench.folder("trafficserver")
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("disk"), withIntermediateDirectories: true)
        let values = [
            "CORES": String(bench.cores), "PORT": String(port), "ORIGIN": String(origin),
            "DIRECTORY": directory.path, "MEMORY": String(memory), "DISK": "\(memory >> 19)M",
        ]
        for name in ["runroot.yaml", "records.config", "remap.config", "storage.config", "ip_allow.yaml"] {
            let file = directory.appendingPathComponent(name)
            try Template("trafficserver/\(name)", in: bench, values).write(to: file)
        }
        let process = try bench.start(
            "trafficserver", "/usr/bin/traffic_server", [],
            environment: ["TS_RUNROOT": directory.appendingPathComponent("runroot.yaml").path])
        let server = Server(name: "Traffic Server", port: port, process: process)
        try server.waitUntilReady("/1/ready")
        return server
    }
}
