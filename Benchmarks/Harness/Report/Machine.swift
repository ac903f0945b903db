import Foundation

/// The machine and the programs of a result.
struct Machine: Codable {
    var cores: Int
    var processor: String
    var memoryBytes: UInt64
    var kernel: String
    /// The versions of the measured programs, by package name, and the commit of Larder.
    var versions: [String: String]

}

extension Machine {
    /// The machine of this run.
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
        // The results that earlier parts have written do not change the program.
        let changes = output("git", git + ["status", "--porcelain", "--", ".", ":!Benchmarks/results", ":!README.md"])
        versions["commit"] = output("git", git + ["rev-parse", "--short", "HEAD"])
            .map { $0 + (changes == nil ? "" : "-dirty") }
    }
}

/// The output of a program without white space around it. `nil` if the program cannot run, fails or prints no text.
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
