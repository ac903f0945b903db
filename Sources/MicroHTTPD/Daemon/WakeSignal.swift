import CMicroHTTPD
import Foundation

/// A descriptor that another thread makes readable to end a wait in `poll` or `epoll_wait`.
final class WakeSignal: Sendable {
    /// An eventfd.
    let descriptor: Int32

    /// Throws ``DaemonError`` if the process has no descriptor left.
    init() throws {
        descriptor = cmhd_eventfd()
        if descriptor < 0 { throw DaemonError.system(.start) }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the descriptor readable, for good.
    func raise() {
        var one: UInt64 = 1
        // The write can fail only if the counter is full, and then the descriptor is readable already.
        _ = write(descriptor, &one, 8)
    }
}

extension DaemonError {
    /// An error from the current value of `errno`.
    static func system(_ step: Step) -> DaemonError {
        let code = errno
        return DaemonError(step: step, code: code, reason: String(cString: strerror(code)))
    }
}
