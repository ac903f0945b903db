import CMicroHTTPD
import Foundation

extension Connection {
    /// `nil` if the kernel does not tell, or the socket is closed.
    func sendProgress() -> SendProgress? {
        openDescriptor.withLock { descriptor in
            var taken: UInt64 = 0
            var waiting: UInt64 = 0
            guard descriptor >= 0, cmhd_send_progress(descriptor, &taken, &waiting) else { return nil }
            return SendProgress(taken: Int64(clamping: taken), waiting: Int64(clamping: waiting))
        }
    }

    /// Bytes of heads, bodies and TLS that the client has acknowledged; after ``noteSent()`` also the bytes that were
    /// still on their way. Never falls; 0 where the kernel does not count.
    var sentBytes: Int64 { max(sendProgress()?.taken ?? 0, sentAtClose.load(ordering: .relaxed)) }

    /// Called when the socket is about to be closed, because the kernel cannot be asked afterwards.
    func noteSent() {
        guard let progress = sendProgress() else { return }
        sentAtClose.store(progress.taken + progress.waiting, ordering: .relaxed)
    }

    /// For a client that does not read its answer.
    func giveUpSending() {
        dropUnsent()
        shutDown()
    }

    /// Otherwise the kernel would offer the unsent bytes after the close, too, for as long as the client responds.
    func dropUnsent() {
        openDescriptor.withLock { descriptor in
            guard descriptor >= 0 else { return }
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
    }

    /// Makes libmicrohttpd see that the client has closed its sending side. libmicrohttpd's epoll is edge-triggered: a
    /// hang-up that arrives together with the last bytes is never seen, and the library waits for the rest of an
    /// unfinished request until a deadline. Closing the receiving side as well has no effect on either party (a
    /// complete request is answered as usual), but it makes a new edge. Returns false, without effect, while the socket
    /// has bytes to read, because the new edge would be lost like the first.
    func showEnd() -> Bool {
        openDescriptor.withLock { descriptor in
            var byte: UInt8 = 0
            if descriptor < 0 { return true }
            if recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 { return false }
            _ = shutdown(descriptor, Int32(SHUT_RD))
            return true
        }
    }
}

extension Connection {
    /// Writes to the socket past libmicrohttpd. Returns false if the socket has no room for all `bytes`: without any
    /// room no byte is sent, and after a partial write the connection is shut down. Not for a connection that
    /// ``isSecure``, because the bytes would not be encrypted.
    ///
    /// Call this only where the connection cannot be closed meanwhile, and while libmicrohttpd has a request without an
    /// answer. Then libmicrohttpd does not write itself, and all its earlier output is in the socket already.
    func sendWhole(_ bytes: [UInt8]) -> Bool {
        let count = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
        // The client would take the next bytes for the rest of the incomplete message.
        if count > 0, count < bytes.count { shutDown() }
        return count == bytes.count
    }
}
