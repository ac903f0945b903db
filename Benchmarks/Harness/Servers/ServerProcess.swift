import Foundation

/// A program that the harness started: a server, or the load generator.
final class ServerProcess {
    let name: String
    /// The id of the process, from which its children are found.
    let id: Int32
    private let log: URL
    private var hasEnded = false

    /// Starts the program with its output in `log`. The program ends with the harness, even if the harness crashes.
    init(name: String, executable: String, arguments: [String], environment: [String: String] = [:], log: URL) throws {
        self.name = name
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log.path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // setpriv(1) replaces itself by the program, and makes the kernel end the program when the harness dies.
        let line = ["setpriv", "--pdeathsig", "TERM", "--", executable] + arguments
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        id = try withCStrings(line) { line in
            try withCStrings(variables) { variables in
                var id: Int32 = 0
                let code = posix_spawnp(&id, "setpriv", &actions, nil, line, variables)
                guard code == 0 else { throw BenchmarkError("\(executable): \(String(cString: strerror(code)))") }
                return id
            }
        }
    }

    /// Whether the process is still running.
    var isRunning: Bool {
        if !hasEnded, waitpid(id, nil, WNOHANG) != 0 { hasEnded = true }
        return !hasEnded
    }

    /// The last five lines of the output.
    var lastWords: String {
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: "\n")
    }

    /// Sends SIGTERM, and SIGKILL if the process is still running after 30 seconds.
    func stop() {
        guard isRunning else { return }
        kill(id, SIGTERM)
        if !wait(seconds: 30) { killNow() }
    }

    /// Sends SIGKILL.
    func killNow() {
        guard isRunning else { return }
        kill(id, SIGKILL)
        _ = wait(seconds: 10)
    }

    /// Waits until the process ends. Returns `false` if the process does not end in time.
    func wait(seconds: Double) -> Bool {
        wait(seconds: seconds) { !isRunning }
    }

    /// Waits until `condition` holds. Returns `false` if `condition` does not hold in time.
    func wait(seconds: Double, until condition: () throws -> Bool) rethrows -> Bool {
        let end = Date().addingTimeInterval(seconds)
        while try !condition() {
            if Date() > end { return false }
            usleep(1000)
        }
        return true
    }

    /// The number of open files and sockets of the process. Throws if the process has ended.
    var openDescriptors: Int {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").count }
    }
}

/// Calls `body` with `texts` as a C array of C strings that ends with `NULL`.
private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws -> Result
) rethrows -> Result {
    var pointers = texts.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return try pointers.withUnsafeMutableBufferPointer { try body($0.baseAddress!) }
}
