import CCurl
import Glibc

/// The sockets of FTP connections, including idle connections. Confined to a single thread of the client.
///
/// When libcurl closes an idle control connection, it sends `QUIT` and waits for the reply. A server without a reply
/// must not delay the end of the client, so the client shuts these sockets down first.
final class FTPSockets {
    private var open: Set<curl_socket_t> = []

    /// Adds an opened socket; ignores -1.
    func insert(_ descriptor: curl_socket_t) {
        if descriptor >= 0 { open.insert(descriptor) }
    }

    /// Shuts all sockets down, so that no more bytes pass through them.
    func interrupt() {
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Makes the handle report the sockets that it closes. The connection keeps the pointer after the transfer; this
    /// object lives until libcurl has closed all connections.
    func track(_ handle: EasyHandle) {
        handle.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        larder_curl_setopt_closesocket(handle.pointer) { this, descriptor in
            Unmanaged<FTPSockets>.fromOpaque(this!).takeUnretainedValue().open.remove(descriptor)
            return close(descriptor)
        }
    }
}
