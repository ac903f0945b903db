import Foundation
import Primitives

/// Standard output or standard error of a command, written at once: whoever reads it through a pipe sees each line when
/// it comes.
struct Console: Sendable {
    static let output = Console(descriptor: STDOUT_FILENO, name: "standard output")
    static let error = Console(descriptor: STDERR_FILENO, name: "standard error")

    let descriptor: Int32
    let name: String

    /// Whether a person looks at it.
    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Whether what was drawn can be drawn over.
    var canRedraw: Bool {
        isTerminal && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } ?? false
    }

    /// How many characters a line has; 80 when the terminal does not say.
    var columns: Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Writes a line. Throws ``CommandFailure``.
    func print(_ line: String) throws(CommandFailure) {
        try write(Array((line + "\n").utf8))
    }

    /// Writes JSON as a line; to a terminal with escapes for what would speak to it. Throws ``CommandFailure``.
    func print(json: JSON) throws(CommandFailure) {
        try print(isTerminal ? LogText.json(json) : json.text)
    }

    /// Writes all of the bytes. Throws ``CommandFailure``.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        try Self.write(bytes, to: descriptor, name: name)
    }

    /// Writes all of the bytes to an open descriptor; `name` is what an error calls it.
    static func write(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(CommandFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw CommandFailure(.cannotCreate, "\(name): \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}
