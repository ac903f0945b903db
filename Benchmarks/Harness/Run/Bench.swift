import Foundation

/// What all parts of one run share: settings, folders, the origin, and the processes that must end with it.
final class Bench {
    let settings: Settings
    /// Where the repository is.
    let root: URL
    /// Where the traces are that the caller has; `nil`: where they are usually.
    let traces: URL?
    /// A folder for this run alone, removed at its end.
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
        // A run that was killed leaves its folder, which can be large.
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

    /// A program of `Benchmarks/bare`, which `scripts/bench` compiled.
    func program(_ name: String) -> String {
        root.appendingPathComponent(".build-bench/bin/\(name)").path
    }

    /// The origin of all parts, started by the first that needs it.
    var origin: Origin {
        get throws {
            if let startedOrigin { return startedOrigin }
            let origin = try Origin(self)
            startedOrigin = origin
            return origin
        }
    }

    /// A new folder in ``work``. Those of earlier turns stay until the part has ended: for minutes after files were
    /// removed, ext4 takes much longer to find a place for a new one, and whoever comes next would pay for it.
    func folder(_ name: String) throws -> URL {
        folderCount += 1
        let folder = work.appendingPathComponent("\(name)-\(folderCount)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        folders.append(folder)
        return folder
    }

    /// Removes a folder before its part ends: one with few files, which costs whoever comes next nothing.
    func remove(_ folder: URL) {
        folders.removeAll { $0 == folder }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends a part: its servers, and what they wrote.
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

    /// Ends what a part started, but for the origin.
    func stopServers() {
        let originProcess = startedOrigin?.server.process
        for process in processes.reversed() where process !== originProcess { process.stop() }
        processes.removeAll { $0 !== originProcess }
    }

    /// Ends everything, and removes the folder unless what is in it may say what went wrong.
    func end(keepingFolder: Bool) {
        stopServers()
        startedOrigin?.server.process.stop()
        if !keepingFolder { try? FileManager.default.removeItem(at: work) }
    }

    /// Says what happens now, on standard error: the results alone are on standard output.
    func note(_ text: String) {
        let seconds = Int(Date().timeIntervalSince(start))
        FileHandle.standardError.write(Data("bench: \(seconds) s: \(text)\n".utf8))
    }
}

/// What the arguments say.
struct Settings: Codable {
    /// In how many rounds everyone is measured.
    var rounds: Int
    /// How long each is measured in a round, in seconds.
    var seconds: Int
    /// Clients that each wait for an answer before they ask again.
    var connections = 64
    /// Fewer entries, rounds and seconds: to see that it works, not to quote.
    var isQuick: Bool
    /// Another executable of Larder than the release build.
    var larder: String?
}
