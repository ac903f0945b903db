import CMicroHTTPD

// The callbacks of libmicrohttpd. It calls them on its own threads, all callbacks of a connection on the same thread.
//
// `context` is the thread's ServingThreads.Context, which lives until after MHD_stop_daemon. The socket context of a
// connection is its Connection object, retained from NOTIFY_STARTED to NOTIFY_CLOSED. The request context is the same
// object, not retained.

/// Called when the request line is complete. Copies the target now, because libmicrohttpd is about to cut it up in
/// place.
func receiveTarget(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ handle: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let pointer = cmhd_socket_context(handle) else { return nil }
    // The text is const in the signature only: it lies in the connection's own buffer, and libmicrohttpd writes to it
    // next.
    let text = UnsafeMutablePointer(mutating: target)
    Unmanaged<Connection>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receiveTarget(text) }
    return pointer
}

/// Called when the head is complete, for each piece of the body, when the request is complete, and after the connection
/// was resumed.
func handleRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadCount: UnsafeMutablePointer<Int>?, _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let pointer = requestContext?.pointee, let url, let method, let version else { return cmhd_result(false) }
    return Unmanaged<Connection>.fromOpaque(pointer)._withUnsafeGuaranteedRef { connection in
        guard let upload, let uploadCount else {
            return cmhd_result(connection.proceed(RequestLine(method: method, target: url, version: version)))
        }
        // The next chunk may be at hand although the chunk before it suspended the connection. The chunk stays unread,
        // because suspending twice would corrupt the library's lists.
        if cmhd_is_suspended(handle) { return cmhd_result(true) }
        let bytes = UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee)
        uploadCount.pointee = 0
        return cmhd_result(connection.receive(bytes))
    }
}

/// Called when the answer was sent completely, or the request failed.
func completeRequest(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ requestContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
    guard let pointer = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    Unmanaged<Connection>.fromOpaque(pointer)._withUnsafeGuaranteedRef { connection in
        connection.endRequest(isWhole: cmhd_is_whole(code))
    }
}

/// Called when libmicrohttpd begins to serve a connection, and when it is about to close it. The descriptor is still
/// open then.
func noteConnection(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let context, let handle, let socketContext else { return }
    if cmhd_is_start(code) {
        let thread = Unmanaged<ServingThreads.Context>.fromOpaque(context).takeUnretainedValue()
        let core = thread.core
        let connection = Connection(handle: handle, thread: thread.index, core: core)
        core.registry.add(connection)
        core.sockets.addForHangUp(connection.descriptor, id: connection.id)
        socketContext.pointee = Unmanaged.passRetained(connection).toOpaque()
    } else if let pointer = socketContext.pointee {
        socketContext.pointee = nil
        let connection = Unmanaged<Connection>.fromOpaque(pointer).takeRetainedValue()
        let core = connection.core
        connection.noteSent()
        core.registry.remove(connection)
        core.threadLoads.leave(connection.threadIndex)
        core.registry.leave(connection.remoteAddress, limit: core.configuration.connectionLimitPerAddress)
        if connection.close(), core.lingering.add(connection.descriptor, id: connection.id) { return }
        core.registry.expectOneLess()
    }
}

/// Called for each line that libmicrohttpd logs.
func receiveLog(_ context: UnsafeMutableRawPointer?, _ text: UnsafePointer<CChar>?) {
    guard let context, let text else { return }
    let line = String(cString: text)
    Unmanaged<ServingThreads.Context>.fromOpaque(context).takeUnretainedValue().core.configuration.log(
        line.last == "\n" ? String(line.dropLast()) : line)
}
