import Foundation
import Primitives

/// A standard stream. It has no buffer, so that a program that reads it through a pipe gets each line at once.
struct Console: Sendable {
    static let output = Console(descriptor: STDOUT_FILENO, name: "standard output")
    static let error = Console(descriptor: STDERR_FILENO, name: "standard error")

    let descriptor: Int32
    let name: String
    var isTerminal: Bool { isatty(descriptor) == 1 }

    var canRedraw: Bool {
        isTerminal && ProcessInfo.processInfo.environment["TERM"].map { $0 != "dumb" && !$0.isEmpty } ?? false
    }

    /// The width of the terminal; 80 when the terminal does not report it.
    var columns: Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    func print(_ line: String) throws(CommandFailure) {
        try write(Array((line + "\n").utf8))
    }

    /// For a terminal, escapes characters that would control the terminal.
    func print(json: JSON) throws(CommandFailure) {
        try print(isTerminal ? LogText.json(json) : json.text)
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw CommandFailure(.cannotCreate, errnoOf: name) }
            rest = rest.dropFirst(count)
        }
    }
}
