import Foundation
import Primitives
import TestSupport

/// The built `larder` executable, run as a user would run it.
final class LarderProcess: Sendable {
    let process: ChildProcess
    let port: UInt16
    let client: HTTPClient

    /// The path of `larder`, beside the bundle of the tests.
    static var executable: String {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("larder").path
    }

    /// Starts `larder serve` on a free port over a directory, with origins on loopback allowed, and waits until the
    /// server listens.
    ///
    /// - Parameters:
    ///   - wrapper: the words before the command, of a program that prepares the process and then becomes the server.
    ///   - executable: another build of the server than the build of the tests.
    ///   - environment: variables on top of the test's own; a `nil` value unsets a variable.
    init(
        directory: String, arguments: [String] = [], wrapper: [String] = [],
        executable: String = LarderProcess.executable, environment: [String: String?] = [:]
    ) async throws {
        let command =
            wrapper + [
                executable, "serve", "--port", "0", "--directory", directory, "--allow-origin", "127.0.0.0/8",
            ] + arguments
        // The tests must not send the changes in the outbox of their user.
        let defaults: [String: String?] = ["LARDER_CONFIG": nil, "XDG_STATE_HOME": directory + "-state"]
        process = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: defaults.merging(environment) { $1 })
        let process = process
        let port = Locked<UInt16?>(nil)
        try await poll("larder listening", every: .milliseconds(2)) {
            if let exit = process.hasExited {
                throw Failure(description: "larder ended with \(exit): \(process.output)")
            }
            guard let found = Self.port(in: process.output) else { return false }
            port.withLock { $0 = found }
            return true
        }
        self.port = port.withLock { $0! }
        client = HTTPClient(port: self.port)
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The port in the log line `listening`; `nil` while the output has no such line.
    static func port(in output: String) -> UInt16? {
        for line in output.split(separator: "\n") {
            guard let json = try? JSON(parsing: String(line)), json["message"] == "listening",
                let url = json["url"]?.stringValue
            else { continue }
            return url.split(separator: ":").last.flatMap { UInt16($0) }
        }
        return nil
    }

    /// The lines of the server's log with this message.
    func logLines(_ message: String) -> [JSON] {
        process.output.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
            .filter { $0["message"]?.stringValue == message }
    }

    /// Sends SIGTERM, and waits for the end of the process.
    func stop() async throws -> ChildProcess.Exit {
        process.kill(SIGTERM)
        return try await process.wait()
    }

    /// Sends SIGKILL, and waits for the end of the process.
    func crash() async throws {
        process.kill(SIGKILL)
        _ = try await process.wait()
    }

    /// Changes a resource limit of the running process with prlimit(1).
    ///
    /// - Parameters:
    ///   - name: the name of the limit as prlimit(1) spells it, for example `nofile`.
    ///   - value: the new soft limit.
    func setLimit(_ name: String, _ value: Int) async throws {
        let output = try await blocking { [process] in
            try ChildProcess.run("prlimit", ["--pid", "\(process.pid)", "--\(name)=\(value):"])
        }
        guard output.exit == .status(0) else { throw Failure(description: output.text) }
    }

    /// The resident memory at present, in bytes.
    var residentBytes: Int { statusBytes("VmRSS:") }

    /// The peak of the resident memory, in bytes.
    var peakResidentBytes: Int { statusBytes("VmHWM:") }

    private func statusBytes(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        let words = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }) ?? []
        return (words.count > 1 ? Int(words[1]) ?? 0 : 0) << 10
    }

    /// Runs `larder verify` on a directory.
    static func verify(
        _ directory: String, executable: String = LarderProcess.executable
    ) async throws -> ChildProcess.Output {
        try await blocking { try ChildProcess.run(executable, ["verify", "--directory", directory]) }
    }
}
