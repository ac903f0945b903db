import Foundation

/// The state that all parts of a run share: settings, folders, the origin, and the processes that must end with the
/// run.
final class Bench {
    let settings: Settings
    /// The root of the repository.
    let root: URL
    /// The folder of traces that the caller names, or `nil` for the usual folder.
    let traces: URL?
    /// The folder of this run, which is removed at the end of a successful run.
    let work: URL
    let cores = ProcessInfo.processInfo.activeProcessorCount
    private let start = Date()
    private var processes: [ServerProcess] = []
    private var folderCount = 0
    private var folders: [URL] = []
    private var startedOrigin: Origin?

    init(settings: Settings, root: URL, traces: URL? = nil) throws {
        self.settings = settings
        self.root = root
        self.traces = traces
        let runs = root.appendingPathComponent(".build-bench")
        work = runs.appendingPathComponent("run-\(getpid())")
        // A killed run leaves its folder behind, which can be large.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: runs.path)) ?? [] {
            guard name.hasPrefix("run-"), let id = Int32(name.dropFirst(4)), kill(id, 0) != 0 else { continue }
            try? FileManager.default.removeItem(at: runs.appendingPathComponent(name))
        }
        try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
        // 10,000 connections need as many descriptors, here and in the servers, which inherit the limit.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// The folder `Benchmarks`.
    var benchmarks: URL { root.appendingPathComponent("Benchmarks") }

    /// The executable of Larder.
    var larder: String { settings.larder ?? root.appendingPathComponent(".build/release/larder").path }

    /// The path of a program of `Benchmarks/bare` that `scripts/bench` has compiled.
    func program(_ name: String) -> String {
        root.appendingPathComponent(".build-bench/bin/\(name)").path
    }

    /// The origin of all parts, which the first access starts.
    var origin: Origin {
        get throws {
            if let startedOrigin { return startedOrigin }
            let origin = try Origin(self)
            startedOrigin = origin
            return origin
        }
    }

    /// Creates a folder in ``work``. The folders of earlier turns stay until the part ends, because ext4 takes much
    /// longer to create files for minutes after files were removed, which would slow the next turn down.
    func folder(_ name: String) throws -> URL {
        folderCount += 1
        let folder = work.appendingPathComponent("\(name)-\(folderCount)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        folders.append(folder)
        return folder
    }

    /// Removes a folder before its part ends. The folder must have few files, so that its removal does not slow the
    /// next turn down.
    func remove(_ folder: URL) {
        folders.removeAll { $0 == folder }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends a part: stops its servers, and removes its folders.
    func endPart() {
        stopServers()
        for folder in folders { try? FileManager.default.removeItem(at: folder) }
        folders = []
    }

    /// Starts a program that ends with this run at the latest.
    func start(
        _ name: String, _ executable: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> ServerProcess {
        let log = work.appendingPathComponent("\(name)-\(processes.count).log")
        let process = try ServerProcess(
            name: name, executable: executable, arguments: arguments, environment: environment, log: log)
        processes.append(process)
        return process
    }

    /// Stops all processes that a part started, except the origin.
    func stopServers() {
        let originProcess = startedOrigin?.server.process
        for process in processes.reversed() where process !== originProcess { process.stop() }
        processes.removeAll { $0 !== originProcess }
    }

    /// Stops all processes. Removes ``work`` unless `keepingFolder`, because its logs may explain a failure.
    func end(keepingFolder: Bool) {
        stopServers()
        startedOrigin?.server.process.stop()
        if !keepingFolder { try? FileManager.default.removeItem(at: work) }
    }

    /// Prints a progress message to standard error, because standard output has only the results.
    func note(_ text: String) {
        let seconds = Int(Date().timeIntervalSince(start))
        FileHandle.standardError.write(Data("bench: \(seconds) s: \(text)\n".utf8))
    }
}

/// The settings of the command line.
struct Settings: Codable {
    /// The number of rounds in which each contender is measured.
    var rounds: Int
    /// The time for which each contender is measured in a round, in seconds.
    var seconds: Int
    /// The number of clients. Each client waits for its answer before it sends the next request.
    var connections = 64
    /// Whether the run has fewer entries, rounds and seconds. Its results show that the benchmarks work, and are not to
    /// be quoted.
    var isQuick: Bool
    /// The path of another Larder executable, or `nil` for the release build.
    var larder: String?
}
