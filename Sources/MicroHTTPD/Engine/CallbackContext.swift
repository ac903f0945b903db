import CMicroHTTPD

/// The context pointer of the callbacks of one serving thread, which is released after MHD_stop_daemon. libmicrohttpd
/// makes all callbacks of a connection on the same thread. The socket context of a connection is its
/// ``ConnectionDriver``, retained from NOTIFY_STARTED to NOTIFY_CLOSED; the request context is the same object.
final class CallbackContext: Sendable {
    let core: DaemonCore
    let threadIndex: Int

    init(core: DaemonCore, threadIndex: Int) {
        self.core = core
        self.threadIndex = threadIndex
    }
}

/// Called by libmicrohttpd when the request line is complete.
func receiveTarget(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let pointer = cmhd_socket_context(handle) else { return nil }
    // The signature says `const`, but the text lies in the connection's buffer, and libmicrohttpd writes to it next.
    let text = UnsafeMutablePointer(mutating: target)
    Unmanaged<ConnectionDriver>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receiveTarget(text) }
    return pointer
}

/// Called for a complete head, for each piece of the body, for the complete request, and after a resumption.
func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadCount: UnsafeMutablePointer<Int>?, _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let pointer = requestContext?.pointee, let url, let method, let version else { return cmhd_result(false) }
    return Unmanaged<ConnectionDriver>.fromOpaque(pointer)._withUnsafeGuaranteedRef { driver in
        guard let upload, let uploadCount else {
            return cmhd_result(driver.proceed(RequestLine(method: method, target: url, version: version)))
        }
        // libmicrohttpd may pass a chunk after the suspension. A second suspension would corrupt libmicrohttpd's lists.
        if cmhd_is_suspended(handle) { return cmhd_result(true) }
        let bytes = UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
        uploadCount.pointee = 0
        return cmhd_result(driver.receive(bytes))
    }
}

/// Called by libmicrohttpd when it has sent the whole answer, or the request has failed.
func completeRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
    guard let pointer = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    Unmanaged<ConnectionDriver>.fromOpaque(pointer)._withUnsafeGuaranteedRef { driver in
        driver.endRequest(isWhole: cmhd_is_whole(code))
    }
}

/// Called when libmicrohttpd begins to serve a connection, and just before libmicrohttpd closes the descriptor.
func noteConnection(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let context, let handle, let socketContext else { return }
    let thread = Unmanaged<CallbackContext>.fromOpaque(context).takeUnretainedValue()
    let core = thread.core
    if cmhd_is_start(code) {
        let driver = ConnectionDriver(handle: handle, core: core)
        core.registry.add(driver.connection)
        core.sockets.addForHangUp(driver.connection.descriptor, id: driver.connection.id)
        socketContext.pointee = Unmanaged.passRetained(driver).toOpaque()
    } else if let pointer = socketContext.pointee {
        socketContext.pointee = nil
        let driver = Unmanaged<ConnectionDriver>.fromOpaque(pointer).takeRetainedValue()
        let connection = driver.connection
        connection.noteSent()
        core.registry.remove(connection)
        core.threadLoads.leave(thread.threadIndex)
        core.registry.leave(connection.remoteAddress, limit: core.configuration.connectionLimitPerAddress)
        if connection.close(isBodyIncomplete: driver.isBodyIncomplete),
            core.lingering.add(connection.descriptor, id: connection.id)
        {
            return
        }
        core.registry.expect(-1)
    }
}

func receiveLog(_ context: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?) {
    guard let context, let text else { return }
    let line = String(cString: text)
    Unmanaged<CallbackContext>.fromOpaque(context).takeUnretainedValue().core.configuration.log(
        line.last == "\n" ? String(line.dropLast()) : line)
}
