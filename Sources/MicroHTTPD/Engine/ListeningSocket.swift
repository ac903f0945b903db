import CMicroHTTPD
import Foundation

/// A bound TCP socket that listens. It is closed with the object.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// Binds the first address of `host`. Throws ``DaemonError``.
    init(host: String, port: UInt16) throws {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0, let address = list?.pointee else {
            throw DaemonError(
                step: .resolve, code: code,
                reason: code == EAI_SYSTEM ? String(cString: strerror(errno)) : String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(list) }

        descriptor = socket(
            address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if descriptor < 0 { throw DaemonError.system(.listen) }
        do {
            // A restart must not wait for the old connections' TIME_WAIT to pass.
            Self.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            if address.ai_family == AF_INET6 { Self.set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
            guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, 4096) == 0 else {
                throw DaemonError.system(.listen)
            }
            self.port = try Self.port(of: descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        close(descriptor)
    }

    func stopListening() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func port(of descriptor: Int32) throws -> UInt16 {
        var name = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutableBytes(of: &name) { bytes in
            getsockname(descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length)
        }
        if code != 0 { throw DaemonError.system(.listen) }
        // The port is at the same place in sockaddr_in and sockaddr_in6.
        return withUnsafeBytes(of: &name) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }
}
