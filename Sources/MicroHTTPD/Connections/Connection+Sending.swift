import CMicroHTTPD
import Foundation

// From anywhere: how a client takes its answer.

extension Connection {
    /// How far the client is with what was sent to it; `nil` when the kernel does not say, or the socket is closed.
    func sendProgress() -> SendProgress? {
        openDescriptor.withLock { descriptor in
            var taken: UInt64 = 0
            var waiting: UInt64 = 0
            // Nothing acknowledged at all: a kernel that does not count (there are sandboxes which only pretend to), or
            // a client that is not there, which the inactivity limit ends.
            guard descriptor >= 0, cmhd_send_progress(descriptor, &taken, &waiting), taken > 0 else { return nil }
            return SendProgress(taken: Int64(clamping: taken), waiting: Int64(clamping: waiting))
        }
    }

    /// ``shutDown()`` of a client that does not take its answer.
    func giveUpSending() {
        dropUnsent()
        shutDown()
    }

    /// What is in the socket for a client that does not take it goes with the connection: the kernel would keep it, and
    /// offer it to the client for as long as that says that it is there.
    func dropUnsent() {
        openDescriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
    }
}
