import Foundation
import Primitives

/// A terminal for a process under test. It keeps all output of the process, and a test can wait for the end of the
/// output.
package final class PseudoTerminal: Sendable {
    /// The descriptor for the process, for example as its standard output.
    package let descriptor: Int32
    private let own: Int32
    private let bytes = Locked<[UInt8]>([])
    private let isOver = Gate("end of the terminal's output")
    private let isReleased = Locked(false)

    /// A terminal of the given size, in characters. Throws ``SystemError``.
    package init(columns: Int, rows: Int = 24) throws {
        var (own, descriptor): (Int32, Int32) = (-1, -1)
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        guard openpty(&own, &descriptor, nil, nil, &size) == 0 else { throw SystemError("openpty") }
        for number in [own, descriptor] { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        self.own = own
        self.descriptor = descriptor
        startThread { [self] in readAll() }
    }

    deinit {
        release()
        close(own)
    }

    /// Closes ``descriptor``. The process must have started; from now on the output ends when the process ends.
    package func release() {
        let wasReleased = isReleased.withLock { isReleased in
            defer { isReleased = true }
            return isReleased
        }
        if !wasReleased { close(descriptor) }
    }

    /// The output so far.
    package var output: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Waits until no process has the terminal open, and returns the whole output. Throws ``Gate/TimedOut``.
    package func outputToEnd() async throws -> String {
        try await isOver.wait()
        return output
    }

    private func readAll() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(own, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // EIO: no process has the other end open.
            guard count > 0 else { return isOver.open() }
            let piece = Array(buffer[..<count])
            bytes.withLock { $0 += piece }
        }
    }
}
