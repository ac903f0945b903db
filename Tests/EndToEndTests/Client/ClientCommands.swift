import Foundation
import Primitives
import TestSupport

/// The client commands of the built executable, run against one server as a person or a script would run them.
struct ClientCommands: Sendable {
    /// The value of `LARDER_SERVER`.
    let server: String
    /// The value of `LARDER_TOKEN`; `nil` when the variable is not set.
    var token: String?
    /// A file of certificate authorities; `nil` when `LARDER_CA_FILE` is not set.
    var authority: String?

    init(_ server: TestServer) {
        self.server = "http://127.0.0.1:\(server.api.port)"
    }

    init(server: String) {
        self.server = server
    }

    /// The exit status and the output of a finished command.
    struct Output: Sendable {
        let exit: ChildProcess.Exit
        /// Standard output.
        let bytes: [UInt8]
        /// Standard error.
        let errors: String

        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// Standard output as JSON; throws when standard output is not JSON.
        var json: JSON {
            get throws { try JSON(parsing: bytes) }
        }

        /// The lines of standard output as JSON.
        var jsonLines: [JSON] {
            get throws { try text.split(separator: "\n").map { try JSON(parsing: String($0)) } }
        }

        /// The values by name, if each line of the output has a name, a tab and a value.
        var values: [String: String] {
            var values: [String: String] = [:]
            for line in text.split(separator: "\n") {
                let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
                values[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
            }
            return values
        }
    }

    /// A running command. Its standard output and standard error are files.
    final class Running: Sendable {
        let process: ChildProcess
        private let directory: TemporaryDirectory

        fileprivate init(_ process: ChildProcess, in directory: TemporaryDirectory) {
            self.process = process
            self.directory = directory
        }

        /// The standard output so far.
        var text: String { (try? directory.read("output")).map { String(decoding: $0, as: UTF8.self) } ?? "" }
        /// The standard error so far.
        var errors: String { (try? directory.read("errors")).map { String(decoding: $0, as: UTF8.self) } ?? "" }

        /// Waits until the command ends.
        func output() async throws -> Output {
            let exit = try await process.wait()
            return Output(exit: exit, bytes: try directory.read("output"), errors: errors)
        }
    }

    /// Runs a command to its end.
    func run(_ arguments: [String], input: [UInt8] = []) async throws -> Output {
        try await start(arguments, input: input).output()
    }

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - terminal: The terminal that serves as standard output and standard error; `nil` for files.
    func start(_ arguments: [String], input: [UInt8] = [], terminal: PseudoTerminal? = nil) throws -> Running {
        let directory = try TemporaryDirectory("larder-client")
        let inputPath = try directory.write(input, to: "input")
        var descriptors: [Int32: Int32] = [:]
        defer { for descriptor in descriptors.keys { close(descriptor) } }
        let inputDescriptor = try open(inputPath, O_RDONLY)
        descriptors[inputDescriptor] = 0
        for (name, number) in [("output", Int32(1)), ("errors", Int32(2))] {
            let path = try directory.write("", to: name)
            let descriptor =
                try terminal.map { fcntl($0.descriptor, F_DUPFD_CLOEXEC, 0) } ?? open(path, O_WRONLY)
            descriptors[descriptor] = number
        }
        let process = try ChildProcess(
            LarderProcess.executable, arguments,
            environment: [
                "LARDER_SERVER": server, "LARDER_TOKEN": token, "LARDER_CA_FILE": authority, "LARDER_CONFIG": nil,
                "TERM": "xterm",
            ], inheriting: descriptors)
        return Running(process, in: directory)
    }

    private func open(_ path: String, _ flags: Int32) throws -> Int32 {
        let descriptor = Foundation.open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        return descriptor
    }
}
