import CSystem
import Glibc

/// A descriptor that another thread makes readable to end a wait in `poll` or `epoll_wait`: an eventfd.
package final class WakeSignal: Sendable {
    package let descriptor: Int32

    /// `nil` if the process has no descriptor left; `errno` has the error.
    package init?() {
        descriptor = csystem_eventfd()
        if descriptor < 0 { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Makes the descriptor readable until ``lower()``.
    package func raise() {
        var one: UInt64 = 1
        // The write can fail only if the counter is full, and then the descriptor is readable already.
        _ = write(descriptor, &one, 8)
    }

    package func lower() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
