import Foundation
import Primitives
import TestSupport

/// The server of a run. Its processes run one after the other, over the same directory.
final class SoakServer: Sendable {
    /// A server process, and whether the test is about to end it.
    final class Life: Sendable {
        let number: Int
        let process: LarderProcess
        /// The open descriptors before a client connected.
        let idle: SoakDescriptors
        private let ending = Locked(false)

        init(number: Int, process: LarderProcess, originPort: UInt16) {
            self.number = number
            self.process = process
            idle = SoakDescriptors(of: process, originPort: originPort)
        }

        /// Whether the process is about to be killed or drained. The flag is set before the signal is sent, so that a
        /// client that loses its connection by the signal sees the flag.
        var isEnding: Bool { ending.withLock(\.self) }

        fileprivate func willEnd() { ending.withLock { $0 = true } }
    }

    private let plan: SoakPlan
    private let directory: String
    private let originPort: UInt16
    private let current = Locked<Life?>(nil)
    private let count = Locked(0)
    /// The processes so far, each with the path of its log.
    private let logs = Recorder<ChildProcess>()

    init(_ plan: SoakPlan, directory: String, originPort: UInt16) {
        self.plan = plan
        self.directory = directory
        self.originPort = originPort
    }

    /// The running process; `nil` while no process runs.
    var life: Life? { current.withLock { $0 } }

    /// The number of processes so far.
    var lives: Int { count.withLock { $0 } }

    /// Blocks until a process runs or `ending` is open, and returns the running process; `nil` when no process runs.
    func awaitLife(until ending: Gate) -> Life? {
        while !ending.isOpen {
            if let life { return life }
            try? ending.waitBlocking(limit: .milliseconds(10))
        }
        return life
    }

    /// Starts a process.
    func start() async throws {
        let process = try await LarderProcess(
            directory: directory, arguments: plan.arguments, executable: plan.executable)
        let number = count.withLock { count in
            count += 1
            return count
        }
        logs.append(process.process)
        let life = Life(number: number, process: process, originPort: originPort)
        current.withLock { $0 = life }
    }

    /// Kills the process with SIGKILL.
    func kill() async throws {
        guard let life = end() else { return }
        try await life.process.crash()
    }

    /// Drains the process with SIGTERM, and returns its exit; `nil` when no process runs.
    func drain() async throws -> ChildProcess.Exit? {
        guard let life = end() else { return nil }
        return try await life.process.stop()
    }

    private func end() -> Life? {
        let life = current.withLock { current in
            defer { current = nil }
            current?.willEnd()
            return current
        }
        return life
    }

    /// The log lines about sanitizer findings and fatal errors, at most five from each log.
    func alarms() throws -> [String] {
        try logs.elements.flatMap { process -> [String] in
            let pattern = "Sanitizer|runtime error:|Fatal error|\"level\":\"critical\""
            let found = try ChildProcess.run("grep", ["-aE", "-m", "5", pattern, process.logPath])
            return found.text.split(separator: "\n").map(String.init)
        }
    }

    /// The number of times that each message was logged as an error.
    func errors() throws -> [String: Int] {
        var errors: [String: Int] = [:]
        for process in logs.elements {
            let found = try ChildProcess.run("grep", ["-a", "\"level\":\"error\"", process.logPath])
            for line in found.text.split(separator: "\n") {
                let json = try? JSON(parsing: String(line))
                let words = ["message", "operation", "status", "reason"].compactMap { json?[$0]?.stringValue }
                errors[words.joined(separator: ", "), default: 0] += 1
            }
        }
        return errors
    }
}
