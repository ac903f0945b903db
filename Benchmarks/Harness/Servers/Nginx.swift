import Foundation

/// nginx with `proxy_cache`: `Benchmarks/peers/nginx.conf`.
enum Nginx {
    /// Starts nginx with its cache in `directory`, or in a new folder if `directory` is `nil`.
    static func start(_ bench: Bench, directory: URL? = nil) throws -> Server {
        let (port, origin) = (try unusedPort(), try bench.origin.port)
        let directory = try directory ?? bench.folder("nginx")
        let configuration = directory.appendingPathComponent("nginx.conf")
        // Only root can change the user, and nginx refuses "user" if it does not run as root.
        try Template(
            "nginx.conf", in: bench,
            [
                "USER": geteuid() == 0 ? "user root;" : "", "CORES": String(bench.cores), "PORT": String(port),
                "ORIGIN": String(origin), "DIRECTORY": directory.path,
            ]
        ).write(to: configuration)
        let process = try bench.start(
            "nginx", "/usr/sbin/nginx",
            ["-c", configuration.path, "-p", directory.path, "-e", directory.appendingPathComponent("error.log").path])
        let server = Server(name: "nginx", port: port, process: process)
        try server.waitUntilReady("/1/ready")
        return server
    }
}
