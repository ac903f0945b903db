import CCurl
import Glibc

/// The sockets of FTP connections, those that wait to be used again among them. Confined to one of the client's
/// threads.
///
/// When libcurl closes an idle control connection it says `QUIT` and waits for the answer. A server that does not give
/// one must not hold up the end of the client: so their sockets are shut down first.
final class FTPSockets {
    private var open: Set<curl_socket_t> = []

    /// A socket that was opened; -1 is none.
    func insert(_ descriptor: curl_socket_t) {
        if descriptor >= 0 { open.insert(descriptor) }
    }

    /// From now on nothing comes through any of them.
    func interrupt() {
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Lets the sockets that the handle opens be closed through here. The connection keeps the pointer beyond the
    /// transfer; this object lives until libcurl has closed all connections.
    func track(_ handle: EasyHandle) {
        handle.set(CURLOPT_CLOSESOCKETDATA, pointer: Unmanaged.passUnretained(self).toOpaque())
        larder_curl_setopt_closesocket(handle.pointer) { this, descriptor in
            Unmanaged<FTPSockets>.fromOpaque(this!).takeUnretainedValue().open.remove(descriptor)
            return close(descriptor)
        }
    }
}
