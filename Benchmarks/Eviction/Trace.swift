import Foundation

/// A trace of requests, in their order.
package struct Trace: Sendable {
    /// A request of the trace.
    package struct Request: Sendable {
        /// The key of the requested object.
        package var key: String
        /// The bytes of the object, if this request has to insert it.
        package var size: Int

        /// A request for `key` with `size` bytes.
        package init(key: String, size: Int) {
            self.key = key
            self.size = size
        }
    }

    /// The requests, in order.
    package var requests: [Request]

    /// A trace of these requests.
    package init(_ requests: [Request]) {
        self.requests = requests
    }

    /// Reads a file with one request `key size` per line. The file may be compressed with xz.
    package init(contentsOf file: URL) throws {
        let text =
            file.pathExtension == "xz" ? try Self.output(of: "xz", ["-dc", file.path]) : try Data(contentsOf: file)
        requests = text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count == 2, let size = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
            return Request(key: String(decoding: fields[0], as: UTF8.self), size: size)
        }
    }

    /// The bytes of all requested objects. Each key counts once, with its last size.
    package var footprint: Int {
        var sizes: [String: Int] = [:]
        for request in requests { sizes[request.key] = request.size }
        return sizes.values.reduce(0, +)
    }

    private static func output(of command: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [command] + arguments
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadCorruptFile) }
        return data
    }
}
