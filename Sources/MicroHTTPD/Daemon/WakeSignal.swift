import CMicroHTTPD
import Foundation

/// A descriptor that becomes readable when another thread says so: it ends a wait in `poll` or `epoll_wait`.
final class WakeSignal: Sendable {
    /// An eventfd.
    let descriptor: Int32

    /// Throws ``DaemonError`` when there is no descriptor left.
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
        // Only a full counter can fail, and then it is readable already.
        _ = write(descriptor, &one, 8)
    }
}

extension DaemonError {
    /// What `errno` says right now.
    static func system(_ step: Step) -> DaemonError {
        let code = errno
        return DaemonError(step: step, code: code, reason: String(cString: strerror(code)))
    }
}
