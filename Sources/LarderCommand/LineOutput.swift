import Foundation
import Primitives

/// Where log lines go, whoever reads them. A reader may stop for good, as a log shipper that hangs or a terminal that
/// nobody reads from does, and there is no room then; the server goes on. Lines wait for room, all of them together no
/// longer than a tenth of the time; then they are lost, and the first one that is written again has another before it
/// that says how many.
///
/// Invariant: the lock is held while a line is written, so that lines of several threads do not mix. Other than what
/// ``Locked`` asks for this waits; not for longer than `patience`, and nothing that is called under it takes a lock.
final class LineOutput: Sendable {
    private struct State {
        /// How long lines may still wait.
        var patience: Duration
        /// When they may wait as long as at first again.
        var calm: ContinuousClock.Instant?
        /// Whether only the beginning of the last line was written.
        var isBroken = false
        /// Lines that were not written, or not to their end.
        var lost = 0
    }

    private let descriptor: Int32
    /// Whether `descriptor` was opened here.
    private let isOwn: Bool
    private let kind: Kind
    private let patience: Duration
    private let state: Locked<State>

    private enum Kind {
        /// Writing to it returns at once.
        case file
        case socket
        /// Writing to it may wait for the reader.
        case blocking
    }

    /// - Parameters:
    ///   - descriptor: stays the caller's, and as it is: other processes may write to the same.
    ///   - patience: how long lines wait for room before they are lost. Default: 100 ms.
    init(_ descriptor: Int32, patience: Duration = .milliseconds(100)) {
        self.patience = patience
        state = Locked(State(patience: patience))
        var status = stat()
        let type = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        guard type == S_IFIFO || type == S_IFCHR else {
            (self.descriptor, isOwn, kind) = (descriptor, false, type == S_IFSOCK ? .socket : .file)
            return
        }
        // The same, with a flag of its own.
        let own = open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        isOwn = own >= 0
        kind = isOwn ? .file : .blocking
        self.descriptor = isOwn ? own : descriptor
    }

    deinit {
        if isOwn { close(descriptor) }
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
        // A terminal may say that it has room, and take nothing: that once, but not for ever.
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
        // What has room has it for so many, if nobody else writes (pipe(7)).
        case .blocking: Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
    }

    /// Waits for room, as long as lines still may. Whether there is some, or writing fails at once.
    private func hasRoom(_ state: inout State) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if poll(&polled, 1, 0) > 0 { return true }
        let start = ContinuousClock.now
        if let calm = state.calm, calm <= start { state.patience = patience }
        // A signal ends the wait, too: it costs one line.
        let count = poll(&polled, 1, Int32(state.patience / .milliseconds(1)))
        let end = ContinuousClock.now
        state.patience = max(.zero, state.patience - (end - start))
        state.calm = end + patience * 10
        return count > 0
    }
}
