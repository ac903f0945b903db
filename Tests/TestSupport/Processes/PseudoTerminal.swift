import Foundation
import Primitives

/// A terminal for a process under test: whatever it writes there is kept, and the end of it can be waited for.
public final class PseudoTerminal: Sendable {
    /// What the process gets, as its standard output for example.
    public let descriptor: Int32
    private let own: Int32
    private let bytes = Locked<[UInt8]>([])
    private let isOver = Gate("end of what the terminal shows")
    private let isReleased = Locked(false)

    /// A terminal of that size, in characters. Throws ``SystemError``.
    public init(columns: Int, rows: Int = 24) throws {
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

    /// The process was started and has the terminal: from now on its end is the end of the output.
    public func release() {
        let wasReleased = isReleased.withLock { isReleased in
            defer { isReleased = true }
            return isReleased
        }
        if !wasReleased { close(descriptor) }
    }

    /// All that was written so far.
    public var output: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Waits until nobody has the terminal any more, and returns all that was written. Throws ``Gate/TimedOut``.
    public func outputToEnd() async throws -> String {
        try await isOver.wait()
        return output
    }

    private func readAll() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(own, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // EIO: nobody has the other end any more.
            guard count > 0 else { return isOver.open() }
            let piece = Array(buffer[..<count])
            bytes.withLock { $0 += piece }
        }
    }
}
