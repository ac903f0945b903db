import Foundation
import Primitives

/// Writes log lines to a descriptor without stopping the server. If the descriptor has no room, threads wait for at
/// most a tenth of the time in total. Then lines are dropped, and a line with their number precedes the next line.
///
/// Invariant: the lock is held while a line is written, so that lines of several threads do not mix. Unlike the rule of
/// ``Locked``, a thread waits under this lock, but not longer than the time limit `patience`, and takes no other lock.
final class LineOutput: Sendable {
    private struct State {
        /// The rest of the time limit for waiting.
        var patience: Duration
        /// The time from which threads may wait for the whole time limit again.
        var calm: ContinuousClock.Instant?
        /// Whether only the beginning of the last line was written.
        var isBroken = false
        /// Lines that were not written, or not completely.
        var lost = 0
    }

    private let descriptor: Int32
    /// Whether this object opened `descriptor` and closes it.
    private let isOwn: Bool
    private let kind: Kind
    private let patience: Duration
    private let state: Locked<State>

    /// A write to a `file` or `socket` does not wait. A write to a `blocking` descriptor may wait for the reader.
    private enum Kind {
        case file, socket, blocking
    }

    /// `descriptor` stays open and keeps its flags, because other processes may write to the same file.
    init(_ descriptor: Int32, patience: Duration = .milliseconds(100)) {
        self.patience = patience
        state = Locked(State(patience: patience))
        var status = stat()
        let type = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        guard type == S_IFIFO || type == S_IFCHR else {
            (self.descriptor, isOwn, kind) = (descriptor, false, type == S_IFSOCK ? .socket : .file)
            return
        }
        // Opens the same pipe or terminal again, because the second open file has its own flags.
        let own = open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        isOwn = own >= 0
        kind = isOwn ? .file : .blocking
        self.descriptor = isOwn ? own : descriptor
    }

    deinit {
        if isOwn { close(descriptor) }
    }

    /// Drops the line if the descriptor has no room in time, the reader has gone or the disk is full. The line must end
    /// with a newline. `notice` makes the line with the number of dropped lines.
    func write(_ line: String, afterLosing notice: (Int) -> String) {
        state.withLock { state in
            if state.lost > 0, put(notice(state.lost), &state) { state.lost = 0 }
            if state.lost > 0 || !put(line, &state) { state.lost += 1 }
        }
    }

    private func put(_ line: String, _ state: inout State) -> Bool {
        let bytes = Array((state.isBroken ? "\n" + line : line).utf8)
        var written = 0
        // A terminal may report room and accept no bytes. The loop retries once, not for ever.
        var isRefused = false
        while written < bytes.count {
            if kind == .blocking, !hasRoom(&state) { break }
            let result = bytes.withUnsafeBytes { put(UnsafeRawBufferPointer(rebasing: $0[written...])) }
            if result > 0 {
                written += result
                isRefused = false
            } else if result < 0, errno == EINTR {
                continue
            } else if result < 0, errno == EAGAIN, !isRefused, hasRoom(&state) {
                isRefused = true
            } else {
                break
            }
        }
        if written > 0 { state.isBroken = written < bytes.count }
        return written == bytes.count
    }

    private func put(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch kind {
        case .file: Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        case .socket: send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        // After `hasRoom`, `PIPE_BUF` bytes fit, unless another process has written meanwhile (pipe(7)).
        case .blocking: Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
    }

    /// Waits for room, up to the rest of the time limit. Returns whether a write would now return without waiting.
    private func hasRoom(_ state: inout State) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if poll(&polled, 1, 0) > 0 { return true }
        let start = ContinuousClock.now
        if let calm = state.calm, calm <= start { state.patience = patience }
        // A signal ends the wait, too, and the line is then dropped.
        let count = poll(&polled, 1, Int32(state.patience / .milliseconds(1)))
        let end = ContinuousClock.now
        state.patience = max(.zero, state.patience - (end - start))
        state.calm = end + patience * 10
        return count > 0
    }
}
