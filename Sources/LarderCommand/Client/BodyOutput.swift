import Foundation
import LarderClient

/// Standard output or a file. A file appears only when it is complete, because the body is written to a temporary file
/// in the same directory. An existing path that is no regular file, such as a pipe, is written directly.
final class BodyOutput {
    private let path: String?
    private let descriptor: Int32
    /// `nil` when the body is written directly.
    private var temporary: String?
    /// `nil` when the bytes are written as they are.
    private var text: TerminalText?

    /// `-` and `nil` mean standard output. With `nil`, a terminal gets only text.
    init(_ path: String?) throws(CommandFailure) {
        if path == nil, Console.output.isTerminal { text = TerminalText() }
        guard let path, path != "-" else {
            self.path = nil
            descriptor = STDOUT_FILENO
            return
        }
        var status = stat()
        let isThere = stat(path, &status) == 0
        let target = isThere ? URL(fileURLWithPath: path).resolvingSymlinksInPath().path : path
        self.path = target
        if isThere, status.st_mode & S_IFMT != S_IFREG {
            descriptor = open(target, O_WRONLY | O_CLOEXEC)
        } else {
            // The name is random, because a killed process may have left its file, and process IDs recur in containers.
            let name = "\(target).larder-\(String(UInt64.random(in: .min ... .max), radix: 36))"
            temporary = name
            // The new file has the permissions of the file that it replaces, and never wider ones. Set-user-ID and
            // set-group-ID bits are not copied, so that no user runs the new content with the owner's rights.
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isThere ? 0o600 : 0o666)
            if isThere, descriptor >= 0 { fchmod(descriptor, status.st_mode & 0o777) }
        }
        guard descriptor >= 0 else {
            temporary = nil
            throw CommandFailure(.cannotCreate, errnoOf: path)
        }
    }

    deinit {
        if let temporary { unlink(temporary) }
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let shown = try text?.take(bytes) ?? bytes
        try Console(descriptor: descriptor, name: path ?? Console.output.name).write(shown)
    }

    func finish() throws(CommandFailure) {
        try text?.finish()
        guard let temporary, let path else { return }
        guard rename(temporary, path) == 0 else { throw CommandFailure(.cannotCreate, errnoOf: path) }
        self.temporary = nil
    }
}

extension APIClient {
    /// Writes the body of an entry to a destination of ``BodyOutput/init(_:)``. `allowsStale` accepts an expired entry.
    func save(_ key: String, allowsStale: Bool = false, to path: String?) async throws {
        let call = APICall(["entries", key, "content"], query: [("stale", allowsStale ? "true" : nil)])
        try await save(call, to: path)
    }

    /// Writes the body of an answer to a destination of ``BodyOutput/init(_:)``. Writes no file for an error status or
    /// an incomplete body.
    func save(_ call: APICall, to path: String?) async throws {
        // An interrupt must not leave half a file.
        try await Interrupt.cancels { [self] in
            try await withResponse(to: call) { response in
                try await response.checkStatus()
                let output = try BodyOutput(path)
                while let piece = try await response.nextPiece() { try output.write(piece) }
                try output.finish()
            }
        }
    }
}
