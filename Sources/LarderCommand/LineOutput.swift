import Foundation
import Primitives

/// Where log lines go, whoever reads them. A reader may stop for good, as a log shipper that hangs or a terminal that
/// is held does, and a pipe is full then; the server goes on. All lines together wait once for room; as long as there
/// is none, they are lost after that, and the first one that is written again has another before it that says how many.
///
/// Invariant: the lock is held while a line is written, so that lines of several threads do not mix.
final class LineOutput: Sendable {
    private struct State {
        /// Whether there was no room for the last line.
        var isStalled = false
        /// Whether only the beginning of the last line was written.
        var isBroken = false
        /// Lines that were not written, or not to their end.
        var lost = 0
    }

    private let descriptor: Int32
    private let patience: Int32
    private let state = Locked(State())

    /// - Parameters:
    ///   - descriptor: stays the caller's.
    ///   - patience: how long there may be no room before lines are lost, in milliseconds. Default: 100.
    init(_ descriptor: Int32, patience: Int32 = 100) {
        self.descriptor = descriptor
        self.patience = patience
    }

    /// Writes a line, with its end. Where that fails, because the reader has gone or the disk is full, it is lost, too.
    ///
    /// - Parameter notice: the line that says how many were lost.
    func write(_ line: String, afterLosing notice: (Int) -> String) {
        state.withLock { state in
            if state.lost > 0, put(notice(state.lost), &state) { state.lost = 0 }
            if state.lost > 0 || !put(line, &state) { state.lost += 1 }
        }
    }

    private func put(_ line: String, _ state: inout State) -> Bool {
        let bytes = Array((state.isBroken ? "\n" + line : line).utf8)
        var written = 0
        while written < bytes.count {
            guard hasRoom(state.isStalled ? 0 : patience) else {
                state.isStalled = true
                break
            }
            // What has room has it for so many (pipe(7)); more would wait.
            let count = min(bytes.count - written, Int(PIPE_BUF))
            let result = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, count) }
            if result < 0, errno == EINTR { continue }
            guard result > 0 else { break }
            written += result
        }
        if written == bytes.count { state.isStalled = false }
        if written > 0 { state.isBroken = written < bytes.count }
        return written == bytes.count
    }

    /// Whether something can be written, or writing fails at once.
    private func hasRoom(_ milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            let count = poll(&polled, 1, milliseconds)
            if count < 0, errno == EINTR { continue }
            return count != 0
        }
    }
}
