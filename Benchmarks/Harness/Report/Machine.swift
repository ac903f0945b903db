import Foundation

/// Where a result comes from.
struct Machine: Codable {
    var cores: Int
    var processor: String
    var memoryBytes: UInt64
    var kernel: String
    /// The versions of everything that was measured, as their packages say.
    var versions: [String: String]

}

extension Machine {
    /// This one.
    init(_ bench: Bench) {
        cores = bench.cores
        memoryBytes = ProcessInfo.processInfo.physicalMemory
        kernel = ProcessInfo.processInfo.operatingSystemVersionString
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":", maxSplits: 1).last
        processor = model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        versions = [:]
        for package in ["libmicrohttpd12", "nginx-light", "varnish", "haproxy", "trafficserver", "wrk", "libsqlite3-0"]
        {
            versions[package] = output("dpkg-query", ["-W", "-f", "${Version}", package])
        }
        versions["larder"] = output(bench.larder, ["--version"])
        let git = ["-C", bench.root.path]
        // What the parts before this one have written makes no other program of it.
        let changes = output("git", git + ["status", "--porcelain", "--", ".", ":!Benchmarks/results", ":!README.md"])
        versions["commit"] = output("git", git + ["rev-parse", "--short", "HEAD"])
            .map { $0 + (changes == nil ? "" : "-dirty") }
    }
}

/// What a program prints, without the white space around it; `nil` when it cannot be run or fails.
private func output(_ executable: String, _ arguments: [String]) -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [executable] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return process.terminationStatus == 0 && !text.isEmpty ? text : nil
}
