import CMicroHTTPD
import Foundation

// libmicrohttpd receives requests through `ConnectionDriver.read(into:by:)`, because its callbacks hide some bytes.

extension ConnectionDriver {
    /// Returns `nil` if the calling thread does not serve a connection with this descriptor.
    fileprivate static func ofCaller(_ descriptor: Int32) -> Unmanaged<ConnectionDriver>? {
        ServingThread.current?._withUnsafeGuaranteedRef { $0.context(of: descriptor) }.map { .fromOpaque($0) }
    }

    /// Reads bytes of requests into `target` by `receive`, which behaves like `recv`, and then checks these bytes.
    /// `nil`: libmicrohttpd must close the connection. A configured ``DaemonConfiguration/refusal`` has been sent.
    fileprivate func read(into target: UnsafeMutableRawPointer, by receive: () -> Int) -> Int? {
        // If libmicrohttpd ran out of memory for an incomplete head, it would send its own error page.
        if requests.isInHead(ofAtLeast: core.configuration.connectionMemory * 3 / 4), refuse(excess) { return nil }
        let count = receive()
        guard count > 0 else { return count }
        let receivedCount = connection.receivedCount.load(ordering: .relaxed)
        connection.receivedCount.store(receivedCount &+ UInt64(count), ordering: .relaxed)
        guard core.configuration.isLayoutKnown else { return count }
        if let defect = requests.receive(UnsafeRawBufferPointer(start: target, count: count)) {
            _ = refuse(defect)
            return nil
        }
        return count
    }

    /// The defect of a head that is too large: `targetTooLong` if the target is too long or not complete.
    private var excess: RequestDefect {
        let isTargetWhole = connection.isBusy.load(ordering: .relaxed)
        return isTargetWhole && targetCount <= core.configuration.targetLimit ? .headTooLarge : .targetTooLong
    }

    /// Sends the refusal of a request without libmicrohttpd. Returns false if no refusal is configured for the defect.
    private func refuse(_ defect: RequestDefect) -> Bool {
        guard let bytes = core.configuration.refusal(defect)?.wireForm(toHead: requests.isForHead) else { return false }
        // The client may still be sending the rest of the request.
        isBodyIncomplete = true
        _ = connection.sendPastLibrary(bytes)
        return true
    }
}

/// Replaces the C library's `recv` in this process, because libmicrohttpd reads sockets with `recv`. Behaves like the C
/// library's `recv` for other callers, and when GnuTLS reads encrypted bytes for libmicrohttpd.
@c(recv) @usableFromInline
func receiveFromSocket(
    _ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int, _ flags: Int32
) -> Int {
    guard flags == 0, let target, let driver = ConnectionDriver.ofCaller(descriptor) else {
        return cmhd_receive(descriptor, target, count, flags)
    }
    return driver._withUnsafeGuaranteedRef { driver in
        if driver.connection.isSecure { return cmhd_receive(descriptor, target, count, flags) }
        guard let count = driver.read(into: target, by: { cmhd_receive(descriptor, target, count, flags) }) else {
            errno = ECONNRESET
            return -1
        }
        return count
    }
}

/// Replaces GnuTLS's `gnutls_record_recv` in this process, which libmicrohttpd calls for connections with TLS.
@c(gnutls_record_recv) @usableFromInline
func receiveFromSession(_ session: OpaquePointer?, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    guard let receive = gnutlsReceive else { return Int(GNUTLS_E_INTERNAL_ERROR) }
    guard let session, let target, let driver = ConnectionDriver.ofCaller(cmhd_tls_descriptor(session)) else {
        return receive(session, target, count)
    }
    return driver._withUnsafeGuaranteedRef { driver in
        driver.read(into: target, by: { receive(session, target, count) }) ?? Int(GNUTLS_E_PREMATURE_TERMINATION)
    }
}

/// GnuTLS's own `gnutls_record_recv`.
private let gnutlsReceive = cmhd_tls_receive()

extension ConnectionDriver {
    /// Whether the dynamic linker finds the two functions of this file under the names `recv` and `gnutls_record_recv`.
    static var receivesInFront: Bool {
        let socket: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int32) -> Int = receiveFromSocket
        let session: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int) -> Int = receiveFromSession
        return dlsym(nil, "recv") == unsafeBitCast(socket, to: UnsafeMutableRawPointer.self)
            && dlsym(nil, "gnutls_record_recv") == unsafeBitCast(session, to: UnsafeMutableRawPointer.self)
    }
}
