import CMicroHTTPD
import Foundation

// From anywhere: how a client takes its answer.

extension Connection {
    /// How far the client is with what was sent to it; `nil` when the kernel does not say, or the socket is closed.
    func sendProgress() -> SendProgress? {
        openDescriptor.withLock { descriptor in
            var taken: UInt64 = 0
            var waiting: UInt64 = 0
            guard descriptor >= 0, cmhd_send_progress(descriptor, &taken, &waiting) else { return nil }
            return SendProgress(taken: Int64(clamping: taken), waiting: Int64(clamping: waiting))
        }
    }

    /// Bytes that the client has acknowledged, of heads, bodies and TLS; after ``noteSent()``, those on their way as
    /// well. It never falls. 0 where the kernel does not count.
    var sentBytes: Int64 { max(sendProgress()?.taken ?? 0, sentAtClose.load(ordering: .relaxed)) }

    /// To be called when the socket is about to be closed: then nobody can ask the kernel any more.
    func noteSent() {
        guard let progress = sendProgress() else { return }
        sentAtClose.store(progress.taken + progress.waiting, ordering: .relaxed)
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

    /// Has libmicrohttpd see that the client has closed its sending side. Its epoll is edge-triggered, and what it read
    /// last ends its interest until the next edge: a hang-up that came together with the last bytes is never seen, and
    /// the rest of an unfinished request waited for until a deadline. Closing the receiving side, too, changes nothing
    /// for either party (a complete request is answered as ever), but it makes a new edge.
    ///
    /// False, and nothing done, while there is something to read: the edge would be lost as the first one was.
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

// For the exchange.

extension Connection {
    /// Writes to the socket past libmicrohttpd, or, when there is no room in it, does nothing and says so. Not for a
    /// connection that ``isSecure``, where it would be no TLS. To be called where the connection cannot be closed
    /// meanwhile, and while libmicrohttpd has a request and no answer to it: then it writes nothing itself, and all
    /// that it wrote before is in the socket already.
    func sendWhole(_ bytes: [UInt8]) -> Bool {
        let count = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        }
        // Whatever came behind a part of a message would be taken for the rest of it.
        if count > 0, count < bytes.count { shutDown() }
        return count == bytes.count
    }
}
