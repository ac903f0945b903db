import Foundation
import LarderClient

/// Where a body goes: standard output, or a file that is there whole or not at all.
///
/// A file is written under another name beside it, which is given to it at the end. What is there and is no file, as a
/// pipe, is written to as it is. A terminal is shown text only, unless standard output was asked for by its name.
final class BodyOutput {
    private let path: String?
    private let descriptor: Int32
    /// The name that it is written under; `nil` when it is written to directly.
    private var temporary: String?
    /// What looks through all that is written; `nil` when it goes out as it is.
    private var text: TerminalText?

    /// - Parameter path: the file; `-` for standard output; `nil` for that, too, but when it is a terminal it is
    ///   shown text only. Throws ``CommandFailure``.
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
            // In a container every process has the number that one which was killed had.
            let name = "\(target).larder-\(String(UInt64.random(in: .min ... .max), radix: 36))"
            temporary = name
            // What takes the place of a file may be read by those who may read that, and at no time by others. Who runs
            // it does not get its owner's rights, whatever was so of the file.
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isThere ? 0o600 : 0o666)
            if isThere, descriptor >= 0 { fchmod(descriptor, status.st_mode & 0o777) }
        }
        guard descriptor >= 0 else {
            temporary = nil
            throw CommandFailure(.cannotCreate, "\(path): \(String(cString: strerror(errno)))")
        }
    }

    /// Without ``finish()`` there is no file.
    deinit {
        if let temporary { unlink(temporary) }
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// Throws ``CommandFailure``.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let shown = try text?.take(bytes)
        try Console.write(shown ?? bytes, to: descriptor, name: path ?? Console.output.name)
    }

    /// All of it is there. Throws ``CommandFailure``.
    func finish() throws(CommandFailure) {
        try text?.finish()
        guard let temporary, let path else { return }
        guard rename(temporary, path) == 0 else {
            throw CommandFailure(.cannotCreate, "\(path): \(String(cString: strerror(errno)))")
        }
        self.temporary = nil
    }
}

extension APIClient {
    /// Writes the body of an entry to where it goes. Throws ``ClientError`` and ``CommandFailure``.
    ///
    /// - Parameters:
    ///   - allowsStale: whether an expired one is good enough.
    ///   - path: as ``BodyOutput/init(_:)`` takes it.
    func save(_ key: String, allowsStale: Bool = false, to path: String?) async throws {
        let call = APICall(["entries", key, "content"], query: [("stale", allowsStale ? "true" : nil)])
        // Who interrupts it does not find half a file.
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
