import Foundation

/// The release build of Larder, or the executable that `--larder` names.
enum Larder {
    /// Starts Larder with a cache directory, which may be empty. `limits` are arguments such as `--memory-limit`.
    static func start(_ bench: Bench, directory: URL, _ limits: [String] = []) throws -> Server {
        let port = try unusedPort()
        let process = try bench.start("larder", bench.larder, arguments(port, directory, limits))
        let server = Server(name: "Larder", port: port, process: process)
        try server.waitUntilReady("/readyz")
        return server
    }

    /// The command line of a server that may contact the origin on loopback and logs only errors.
    static func arguments(_ port: UInt16, _ directory: URL, _ limits: [String]) -> [String] {
        [
            "serve", "--port", String(port), "--directory", directory.path, "--layout", "hashed",
            "--allow-origin", "127.0.0.0/8", "--log-level", "error",
        ] + limits
    }

    /// Downloads `urls` through the server, and returns the keys of the entries in the order of the URLs.
    static func download(_ urls: [String], on server: Server) throws -> [String] {
        struct Item: Encodable {
            let url: String
            let ttl: Int
        }
        struct Line: Decodable {
            struct Entry: Decodable {
                let key: String
            }
            let index: Int
            let entry: Entry?
        }
        let connection = try server.connect()
        var keys = [String?](repeating: nil, count: urls.count)
        let step = 100
        for start in stride(from: 0, to: urls.count, by: step) {
            let items = urls[start..<min(start + step, urls.count)].map { Item(url: $0, ttl: 86400) }
            let answer = try connection.send(
                "POST", "/downloads", fields: ["Content-Type: application/json"], body: JSONEncoder().encode(items))
            for line in answer.body.split(separator: UInt8(ascii: "\n")) {
                let result = try JSONDecoder().decode(Line.self, from: Data(line))
                keys[start + result.index] = result.entry?.key
            }
        }
        let found = keys.compactMap(\.self)
        guard found.count == urls.count else {
            throw BenchmarkError("Larder could not download \(urls.count - found.count) of \(urls.count) URLs")
        }
        return found
    }
}
