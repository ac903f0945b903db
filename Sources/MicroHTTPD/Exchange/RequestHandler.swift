import Primitives

/// Decides how each request is answered.
package protocol RequestHandler: Sendable {
    /// Called on libmicrohttpd's thread when the request line is complete, before the rest of the head is parsed. A
    /// handler can prefetch memory for an answer at hand (``Primitives/MemoryHint``). `target` is as it was sent, and
    /// valid during the call only. ``RawHead/expectation`` carries the result to ``readyResponse(to:)``. Default: 0.
    func expect(_ target: UnsafeRawBufferPointer) -> Int

    /// Returns the answer if it is at hand and needs no further work. The daemon asks for it before it calls
    /// ``receive(_:)``; an answer here saves that call and all objects that are made for it. The daemon asks only about
    /// GET and HEAD without a body and without a defect, on libmicrohttpd's thread, so the method must not block. It
    /// returns the same answer to HEAD as to GET; libmicrohttpd leaves out the body. `head` is valid during the call
    /// only. Default: ``ReadyResponse/none``.
    func readyResponse(to head: borrowing RawHead) -> ReadyResponse

    /// Called before the body is read, on libmicrohttpd's thread, which serves many connections: must not block.
    func receive(_ request: Request) -> Reception
}

extension RequestHandler {
    package func expect(_ target: UnsafeRawBufferPointer) -> Int { 0 }

    package func readyResponse(to head: borrowing RawHead) -> ReadyResponse { .none }
}

package enum ReadyResponse: Sendable {
    /// Has a body that can be sent more than once: neither a file nor a stream.
    case response(Response)
    /// The bytes are on their way from the disk. They are probably there once the thread has served its other
    /// connections with events; the daemon asks once more then. The detour pays because asking the disk's threads costs
    /// as much as answering. A thread without other work asks again at once, though, which is too early.
    case soon
    /// The daemon calls ``RequestHandler/receive(_:)``.
    case none
}

package enum Reception: Sendable {
    /// Sends the answer at once and closes the connection after it, with the body unread. A client that sent `Expect:
    /// 100-continue` gets this answer instead of the go-ahead. Bytes that the client sends all the same are discarded
    /// for a while (30 s, at most 5 s of them in silence), so that it gets to read the answer. For a small body,
    /// ``accept(_:_:)`` with ``BodyPolicy/none`` is better, because it keeps the connection.
    case refuse(Response)

    /// Reads the body, then calls the closure with the exchange, on libmicrohttpd's thread. The closure answers by
    /// ``Exchange/respond(_:)``, or hands the exchange on: then the connection is suspended until the answer.
    case accept(BodyPolicy, @Sendable (Exchange) -> Void)
}
