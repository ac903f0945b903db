import CSystem
import Glibc

/// An eventfd. One thread waits for its descriptor in `poll` or `epoll_wait`, and another thread ends the wait.
package final class WakeSignal: Sendable {
    package let descriptor: Int32

    /// `nil`, with the reason in `errno`, if the process has no descriptor left.
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
        // The write fails only if the counter is full. In this case the descriptor is readable already.
        _ = write(descriptor, &one, 8)
    }

    package func lower() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
