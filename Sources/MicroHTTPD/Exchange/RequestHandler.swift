import Primitives

/// Decides how each request is answered.
package protocol RequestHandler: Sendable {
    /// Called on libmicrohttpd's thread when the request line is complete, so that a handler can prefetch memory for a
    /// ready answer (``Primitives/MemoryHint``). `target` is as it was sent, and valid during the call only.
    /// ``readyResponse(to:)`` gets the result as ``RawHead/expectation``. Default: 0.
    func expect(_ target: UnsafeRawBufferPointer) -> Int

    /// Returns the answer if it is in memory, which saves ``receive(_:)`` and the objects that it needs. Called only
    /// for GET and HEAD without a body and without a defect, on libmicrohttpd's thread: must not block. For HEAD,
    /// libmicrohttpd sends no body. `head` is valid during the call only. Default: ``ReadyResponse/none``.
    func readyResponse(to head: borrowing RawHead) -> ReadyResponse

    /// Called before the body is read, on libmicrohttpd's thread, which serves many connections: must not block.
    func receive(_ request: Request) -> Reception
}

extension RequestHandler {
    package func expect(_ target: UnsafeRawBufferPointer) -> Int { 0 }
    package func readyResponse(to head: borrowing RawHead) -> ReadyResponse { .none }
}

package enum ReadyResponse: Sendable {
    /// The body can be sent more than once: it is neither a file nor a stream.
    case response(Response)
    /// The answer's bytes are being read from the disk. The daemon asks once more, after the thread has served its
    /// other connections with events. If the bytes are still missing, a thread for the disk takes the request, which
    /// costs as much as an answer. Without other connections the daemon asks at once, and the bytes are often missing.
    case soon
    /// The daemon calls ``RequestHandler/receive(_:)``.
    case none
}

package enum Reception: Sendable {
    /// Sends the answer immediately, in place of any `100 Continue`, and then closes the connection without reading the
    /// body. For at most 30 s, and at most 5 s of silence, further bytes are discarded, so that the client can read the
    /// answer. For a small body, ``accept(_:_:)`` with ``BodyPolicy/none`` is better, because it keeps the connection.
    case refuse(Response)

    /// Reads the body, then calls the closure with the exchange, on libmicrohttpd's thread. The closure answers by
    /// ``Exchange/respond(_:)``, or passes the exchange on; then the connection is suspended until the answer.
    case accept(BodyPolicy, @Sendable (Exchange) -> Void)
}

/// The use of a request's body. Unwanted bytes are discarded, up to ``DaemonConfiguration/discardLimit``; beyond it the
/// connection is closed without an answer. A `Content-Length` above the policy's limit (of ``none``: the discard limit)
/// leaves the body unread in two cases: it also exceeds the discard limit, or the client waits for `100 Continue`. The
/// exchange then starts at once with ``ReceivedBody/tooLarge``, and the connection closes after the answer.
package enum BodyPolicy: Sendable {
    case none
    /// Collects at most `limit` bytes; a larger body is ``ReceivedBody/tooLarge``.
    case memory(limit: Int)
    case sink(any BodySink)
}

/// Takes a body piece by piece, on libmicrohttpd's thread. The daemon reads no faster than the sink has room.
package protocol BodySink: AnyObject, Sendable {
    /// The bytes are valid during the call only. After ``Primitives/Backpressure/closed`` the rest of the body is
    /// discarded, up to ``DaemonConfiguration/discardLimit``. The exchange starts at the end of the body, because
    /// libmicrohttpd takes no answer earlier. An error ends the calls: ``ReceivedBody/failed(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure

    /// Calls `action` once, from any thread, as soon as the sink has room or wants no more bytes; at once if this is so
    /// already. Default: at once. The daemon calls this method after each write that returned
    /// ``Primitives/Backpressure/full``, on the same thread. Until `action` is called, the connection is suspended, and
    /// the exchange does not start. No effect after ``abandon()``.
    func onRoom(_ action: @escaping @Sendable () -> Void)

    /// Called when the exchange will never start: before the body was complete, the client went away or was cut off, or
    /// the daemon stops. While the sink is full, a client that only closed its sending side counts as gone, too.
    func abandon()
}

extension BodySink {
    package func onRoom(_ action: @escaping @Sendable () -> Void) {
        action()
    }
}

package enum ReceivedBody: Sendable {
    case none
    /// Empty if the request has no body.
    case memory([UInt8])
    /// The whole body, unless the sink returned ``Primitives/Backpressure/closed``.
    case sunk(byteCount: Int64)
    /// The body, or its declared length, exceeds the limit.
    case tooLarge
    /// The bodies of all requests together take ``DaemonConfiguration/bodyMemoryLimit`` already.
    case noMemory
    case failed(any Error)
}
