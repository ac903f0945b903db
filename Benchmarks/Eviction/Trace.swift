import Foundation

/// A trace of requests, in their order.
package struct Trace: Sendable {
    /// One request.
    package struct Request: Sendable {
        /// What is asked for.
        package var key: String
        /// How many bytes it has, if it has to be put in for this request.
        package var size: Int

        /// A request.
        package init(key: String, size: Int) {
            self.key = key
            self.size = size
        }
    }

    /// The requests.
    package var requests: [Request]

    /// A trace of these requests.
    package init(_ requests: [Request]) {
        self.requests = requests
    }

    /// Reads a file with one request a line, `key size`, which may be compressed with xz.
    package init(contentsOf file: URL) throws {
        let text =
            file.pathExtension == "xz" ? try Self.output(of: "xz", ["-dc", file.path]) : try Data(contentsOf: file)
        requests = text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count == 2, let size = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
            return Request(key: String(decoding: fields[0], as: UTF8.self), size: size)
        }
    }

    /// What all that is asked for takes together, in bytes: each key once, with the last of its sizes.
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
