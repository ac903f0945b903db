import Foundation
import Primitives

/// A process that a test starts, watches and ends by its process id.
package final class ChildProcess: Sendable {
    /// How a process ended.
    package enum Exit: Equatable, Sendable {
        /// The process exited with this status.
        case status(Int32)
        /// This signal killed the process.
        case signal(Int32)
    }

    /// The result of a finished command.
    package struct Output: Sendable {
        /// How the command ended.
        package let exit: Exit
        /// The whole output, standard output and standard error together.
        package let text: String
    }

    /// The process id.
    package let pid: pid_t
    /// The file that receives standard output and standard error.
    package let logPath: String
    private let directory: TemporaryDirectory
    private let exit = Locked<Exit?>(nil)

    /// Starts `executable`, looked up in `$PATH` when it has no slash.
    ///
    /// - Parameters:
    ///   - environment: variables that are set on top of the test's own; a `nil` value unsets a variable.
    ///   - inheriting: descriptors of this process, and the number (under 64) that each has in the child. In the
    ///     child, all descriptors above 2 and above these numbers are closed, up to 1,023.
    ///
    /// Throws ``SystemError`` when the process cannot be started.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String?] = [:],
        inheriting descriptors: [Int32: Int32] = [:]
    ) throws {
        directory = try TemporaryDirectory("larder-process")
        logPath = directory.path("output")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, logPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Each descriptor is copied to a number of 64 or above first. Otherwise the `dup2` for one descriptor could
        // replace another descriptor that is still to be copied.
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for (own, childs) in descriptors {
            copies.append(fcntl(own, F_DUPFD_CLOEXEC, 64))
            posix_spawn_file_actions_adddup2(&actions, copies.last!, childs)
        }
        // Closes all higher descriptors in the child, because some descriptors of this process are not closed on exec.
        for number in max(2, descriptors.values.max() ?? 2) + 1..<1024 {
            posix_spawn_file_actions_addclose(&actions, number)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var variables = ProcessInfo.processInfo.environment
        for (name, value) in environment { variables[name] = value }
        var argv = ([executable] + arguments).map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, executable, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw SystemError("starting \(executable)", code: code) }
        self.pid = pid
    }

    deinit {
        if hasExited == nil {
            kill(SIGKILL)
            _ = waitBlocking()
        }
    }

    /// Runs a command to its end on the calling thread. Throws ``SystemError`` when it cannot be started.
    package static func run(_ executable: String, _ arguments: [String]) throws -> Output {
        let process = try ChildProcess(executable, arguments)
        let exit = process.waitBlocking()
        return Output(exit: exit, text: process.output)
    }

    /// The output so far, standard output and standard error together.
    package var output: String {
        String(decoding: (try? Data(contentsOf: URL(fileURLWithPath: logPath))) ?? Data(), as: UTF8.self)
    }

    /// How the process ended; `nil` while it runs.
    package var hasExited: Exit? { reap(WNOHANG) }

    /// Sends a signal, unless the process has ended and was reaped.
    package func kill(_ signal: Int32) {
        exit.withLock { exit in
            if exit == nil { _ = Foundation.kill(pid, signal) }
        }
    }

    /// Blocks until the process ends.
    package func waitBlocking() -> Exit {
        while true {
            if let exit = reap(WNOHANG) { return exit }
            // `WNOWAIT` does not reap the process. Only `reap` does so, under the lock, so `kill` never meets a process
            // id that has passed to another process.
            var info = siginfo_t()
            waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT)
        }
    }

    /// Waits until the process ends, without blocking a task's thread. Throws ``Gate/TimedOut`` after `limit`.
    package func wait(limit: Duration = .seconds(30)) async throws -> Exit {
        try await poll("process \(pid) ending", limit: limit) { hasExited != nil }
        return hasExited!
    }

    private func reap(_ options: Int32) -> Exit? {
        exit.withLock { exit in
            if exit != nil { return exit }
            var status: Int32 = 0
            guard waitpid(pid, &status, options) == pid else { return nil }
            let signal = status & 0x7f
            exit = signal == 0 ? .status((status >> 8) & 0xff) : .signal(signal)
            return exit
        }
    }
}
