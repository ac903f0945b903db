import Primitives

/// Decides how each request is answered.
package protocol RequestHandler: Sendable {
    /// Called for every request when its request line is complete, before the rest of the head is parsed, on
    /// libmicrohttpd's thread. A handler can use the call to prefetch memory that an answer at hand will need
    /// (``Primitives/MemoryHint``).
    ///
    /// - Parameter target: the request target as it was sent; valid during the call only.
    /// - Returns: any value; ``RawHead/expectation`` carries it to ``readyResponse(to:)``. Default: 0.
    func expect(_ target: UnsafeRawBufferPointer) -> Int

    /// Returns the answer to a request if it is at hand and needs no further work. The daemon asks for it before it
    /// calls ``receive(_:)``. An answer here saves that call and all objects that are made for it. The daemon asks only
    /// about GET and HEAD without a body and without a defect, on libmicrohttpd's thread, so the method must not block.
    /// It returns the same answer to HEAD as to GET; libmicrohttpd leaves out the body. Default:
    /// ``ReadyResponse/none``.
    ///
    /// - Parameter head: valid during the call only.
    func readyResponse(to head: borrowing RawHead) -> ReadyResponse

    /// Called when the head of a request is complete, before its body is read. The call comes on libmicrohttpd's
    /// thread, which serves many other connections, so the method must not block.
    func receive(_ request: Request) -> Reception
}

extension RequestHandler {
    /// Returns 0, and prefetches no memory.
    package func expect(_ target: UnsafeRawBufferPointer) -> Int { 0 }

    /// Returns ``ReadyResponse/none``.
    package func readyResponse(to head: borrowing RawHead) -> ReadyResponse { .none }
}

/// The answer that a ``RequestHandler`` has at hand.
package enum ReadyResponse: Sendable {
    /// An answer with a body that can be sent more than once: neither a file nor a stream.
    case response(Response)
    /// No answer yet, but its bytes are on their way from the disk. They are probably there once the thread has served
    /// its other connections with events; the daemon asks once more then. The detour pays because asking the disk's
    /// threads costs as much as answering. A thread without other work asks again at once, though, which is too early.
    case soon
    /// No answer at hand; the daemon calls ``RequestHandler/receive(_:)``.
    case none
}

/// The decision of a ``RequestHandler`` about a request.
package enum Reception: Sendable {
    /// Sends the answer at once and closes the connection after it, with the body unread. A client that sent
    /// `Expect: 100-continue` gets this answer instead of the go-ahead. Bytes that the client sends all the same are
    /// discarded for a while (30 s, at most 5 s of them in silence), so that it gets to read the answer. For a small
    /// body, ``accept(_:_:)`` with ``BodyPolicy/none`` is better, because it keeps the connection.
    case refuse(Response)

    /// Reads the body according to the policy, then calls the closure with the exchange, on libmicrohttpd's thread. The
    /// closure answers by ``Exchange/respond(_:)``, or hands the exchange on and returns. Then the connection is
    /// suspended until the exchange is answered.
    case accept(BodyPolicy, @Sendable (Exchange) -> Void)
}

/// The destination of a request's body.
///
/// Unwanted bytes are discarded, up to ``Daemon/Configuration/discardLimit``; beyond it the connection is closed
/// without an answer. A body whose `Content-Length` exceeds the policy's limit (for ``none`` the discard limit) is not
/// read at all if the `Content-Length` also exceeds the discard limit, or if the client waits for the go-ahead. Then
/// the exchange starts at once, with the body ``ReceivedBody/tooLarge``, and the connection closes after the answer.
package enum BodyPolicy: Sendable {
    /// The body is discarded.
    case none
    /// The body is collected in memory, at most `limit` bytes: a larger body is ``ReceivedBody/tooLarge``.
    case memory(limit: Int)
    /// The body goes to a sink, piece by piece.
    case sink(any BodySink)
}

/// Takes the body of a request piece by piece, on libmicrohttpd's thread. The sink reports whether it has room, and the
/// daemon does not read from the client faster than the sink takes the body.
package protocol BodySink: AnyObject, Sendable {
    /// Takes the next bytes, which are valid during the call only. The sink takes all of them, unless it returns
    /// ``Primitives/Backpressure/closed``. Then the rest of the body is discarded, up to
    /// ``Daemon/Configuration/discardLimit``, and the exchange starts at the end of the body. (Starting earlier would
    /// not help: libmicrohttpd takes an answer before the body or after it, never in between.) The first error ends the
    /// calls: the exchange gets it as ``ReceivedBody/failed(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure

    /// Calls `action` once, from any thread, as soon as the sink has room or is known to want no more bytes (then the
    /// next write returns ``Primitives/Backpressure/closed``); at once if that has happened already. The daemon calls
    /// this method after each write that returned ``Primitives/Backpressure/full``, on the same thread. Until `action`
    /// is called the connection is suspended: no further bytes come, and the exchange does not start even if the body
    /// is complete. Calling `action` too late, after ``abandon()``, has no effect.
    ///
    /// Default: calls `action` at once, for sinks that are never full.
    func onRoom(_ action: @escaping @Sendable () -> Void)

    /// Called when the exchange will never start, because the client went away before its body was complete, or was cut
    /// off, or the daemon stops. Not called once the exchange has started. While the sink is full, a client that has
    /// only closed its sending side counts as gone, too.
    func abandon()
}

extension BodySink {
    /// Calls `action` at once.
    package func onRoom(_ action: @escaping @Sendable () -> Void) {
        action()
    }
}

/// The outcome of receiving the body of a request.
package enum ReceivedBody: Sendable {
    /// The body was not wanted: ``BodyPolicy/none``.
    case none
    /// The whole body, empty if the request has none: ``BodyPolicy/memory(limit:)``.
    case memory([UInt8])
    /// The sink took that many bytes: the whole body, unless it returned ``Primitives/Backpressure/closed``.
    case sunk(byteCount: Int64)
    /// The body, or its declared length, exceeds the limit.
    case tooLarge
    /// The bodies of all requests together take ``Daemon/Configuration/bodyMemoryLimit`` already.
    case noMemory
    /// The sink threw this error.
    case failed(any Error)
}
