import DiskCache
import Foundation

/// `EvictionReplay TRACE…`: how much each tier misses of each trace, at shares of the trace's footprint.
///
/// A trace has one request a line, `key size`, and may be compressed with xz. The table goes to standard output as
/// Markdown.
@main
struct EvictionReplayCommand {
    /// Of the footprint, in percent.
    private static let shares = [1, 10]

    static func main() throws {
        let paths = CommandLine.arguments.dropFirst()
        guard !paths.isEmpty else {
            FileHandle.standardError.write(Data("usage: EvictionReplay TRACE...\n".utf8))
            exit(64)
        }
        print("Miss ratios, objects / bytes; cache = share of the trace's footprint.\n")
        print("| trace | share | memory tier | disk tier | entries on disk | policy's memory, bytes an entry |")
        print("|---|---|---|---|---|---|")
        for path in paths {
            let trace = try trace(at: path)
            let name = URL(fileURLWithPath: path).lastPathComponent.prefix { $0 != "." }
            for share in shares {
                let capacity = trace.footprint * share / 100
                let memory = EvictionReplay.memoryTier(trace, capacity: capacity)
                let disk = try withTemporaryDirectory {
                    try EvictionReplay.diskTier(trace, capacity: capacity, directory: $0)
                }
                let policy = number(Double(disk.policyBytes) / Double(disk.entries), digits: 1)
                print("| \(name) | \(share) % | \(ratios(memory)) | \(ratios(disk)) | \(disk.entries) | \(policy) |")
            }
        }
    }

    private static func ratios(_ outcome: EvictionReplay.Outcome) -> String {
        number(outcome.objectMissRatio, digits: 4) + " / " + number(outcome.byteMissRatio, digits: 4)
    }

    private static func number(_ value: Double, digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }

    private static func trace(at path: String) throws -> EvictionReplay.Trace {
        let text =
            path.hasSuffix(".xz")
            ? try output(of: "/usr/bin/env", ["xz", "-dc", path]) : try Data(contentsOf: URL(fileURLWithPath: path))
        let requests = text.split(separator: UInt8(ascii: "\n")).compactMap { line -> EvictionReplay.Trace.Request? in
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count == 2, let size = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
            return EvictionReplay.Trace.Request(key: String(decoding: fields[0], as: UTF8.self), size: size)
        }
        return EvictionReplay.Trace(requests)
    }

    private static func output(of command: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: command)
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileReadCorruptFile) }
        return data
    }

    private static func withTemporaryDirectory<Value>(_ body: (String) throws -> Value) throws -> Value {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("larder-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        return try body(directory.path)
    }
}
