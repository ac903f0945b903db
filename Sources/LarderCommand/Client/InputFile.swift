import Foundation
import Primitives

/// The input of a command: a file, or standard input for the name `-`.
final class InputFile {
    let descriptor: Int32
    /// The bytes from the current position to the end; `nil` when unknown, as for a pipe.
    let length: Int64?
    private let name: String

    init(_ path: String) throws(CommandFailure) {
        name = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw CommandFailure(.noInput, errnoOf: name) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw CommandFailure(.noInput, "\(name): this is a directory") }
        let isFile = status.st_mode & S_IFMT == S_IFREG
        length = isFile ? max(0, Int64(status.st_size) - Int64(lseek(descriptor, 0, SEEK_CUR))) : nil
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    func read() throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(.noInput, errnoOf: name) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }
}

extension InputFile {
    /// Reads the rest as JSON. `option` names the option of the file in the error.
    func json(for option: String) throws(CommandFailure) -> JSON {
        try JSON(try read(), of: option)
    }
}

extension JSON {
    /// Parses the value of an option.
    init(_ bytes: [UInt8], of option: String) throws(CommandFailure) {
        do throws(SyntaxError) {
            try self.init(parsing: bytes, depthLimit: JSONValidator.depthLimit)
        } catch {
            throw CommandFailure(.usage, "the value of \(option) is not valid JSON, \(error)")
        }
    }
}
