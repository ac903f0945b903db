import Primitives

/// Decides what happens with each request.
public protocol RequestHandler: Sendable {
    /// The request line is there, the rest of the head is still to be looked at: the time to have memory fetched that
    /// an answer at hand will need (``Primitives/MemoryHint``). Called for every request, on libmicrohttpd's thread.
    ///
    /// - Parameter target: the request target as it was sent; valid during the call only.
    /// - Returns: anything; ``RawHead/expectation`` has it. 0 unless implemented.
    func expect(_ target: UnsafeRawBufferPointer) -> Int

    /// The answer to a request, where it is at hand and nothing needs to be done for it: asked before ``receive(_:)``,
    /// which is called when there is none, and saves all that is made for that. Only asked about GET and HEAD without a
    /// body and without a defect, on libmicrohttpd's thread, which must not be kept waiting. To HEAD the same answer is
    /// given as to GET; libmicrohttpd leaves out the body. ``ReadyResponse/none`` unless implemented.
    ///
    /// - Parameter head: valid during the call only.
    func readyResponse(to head: borrowing RawHead) -> ReadyResponse

    /// Called when the head of a request is complete and nothing of its body was read, on libmicrohttpd's thread, which
    /// serves many other connections: it must not wait for anything.
    func receive(_ request: Request) -> Reception
}

extension RequestHandler {
    /// 0: nothing is fetched.
    public func expect(_ target: UnsafeRawBufferPointer) -> Int { 0 }

    /// Nothing is at hand.
    public func readyResponse(to head: borrowing RawHead) -> ReadyResponse { .none }
}

/// What a ``RequestHandler`` has at hand.
public enum ReadyResponse: Sendable {
    /// An answer whose body can be sent more than once: neither a file nor a stream.
    case response(Response)
    /// Nothing yet, but what it takes is on its way from the disk, and is probably there when the thread has served the
    /// other connections that have something for it: it is asked once more then. To ask the disk's threads costs as
    /// much as to answer; a thread that has nothing else to do is back at once, though, and too early.
    case soon
    /// Nothing; ``RequestHandler/receive(_:)`` is called.
    case none
}

/// What a ``RequestHandler`` wants to be done with a request.
public enum Reception: Sendable {
    /// Answer at once and close the connection after it, with the body unread. A client that sent
    /// `Expect: 100-continue` gets this answer instead of the go-ahead. What a client sends all the same is thrown away
    /// for a while (30 s, at most 5 s of them in silence), so that it comes to read the answer. For a small body,
    /// ``accept(_:_:)`` with ``BodyPolicy/none`` is kinder: it keeps the connection.
    case refuse(Response)

    /// Read the body as the policy says, then call the closure with the exchange, on libmicrohttpd's thread. It answers
    /// there, by ``Exchange/respond(_:)``, or hands the exchange on and returns: then the connection is suspended until
    /// somebody answers.
    case accept(BodyPolicy, @Sendable (Exchange) -> Void)
}

/// Where the body of a request goes. Whatever is not wanted is thrown away, up to
/// ``Daemon/Configuration/discardLimit``; beyond it the connection is closed and nobody answers. When its
/// `Content-Length` says so from the start, or it is over the limit and its client waits for the go-ahead, it is not
/// read at all: the exchange starts at once, with the body ``ReceivedBody/tooLarge``, and the connection closes after
/// the answer.
public enum BodyPolicy: Sendable {
    /// The request has no use for a body.
    case none
    /// Into memory, at most `limit` bytes: a larger body is ``ReceivedBody/tooLarge``.
    case memory(limit: Int)
    /// To somebody who takes it piece by piece.
    case sink(any BodySink)
}

/// Takes the body of a request piece by piece, on libmicrohttpd's thread, and says whether it can take more: a client
/// is not read from faster than its body goes away.
public protocol BodySink: AnyObject, Sendable {
    /// Takes the next bytes, which are valid during the call only; all of them, unless it says
    /// ``Primitives/Backpressure/closed``: then the rest is thrown away, up to ``Daemon/Configuration/discardLimit``,
    /// and the exchange starts, as after any body. (It would gain nothing by starting earlier: libmicrohttpd takes an
    /// answer before the body or after it, never in between.) The first error ends the calls: it is the exchange's
    /// ``ReceivedBody/failed(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure

    /// Called after each write that said ``Primitives/Backpressure/full``, on the same thread: has `action` called
    /// once, from any thread, as soon as there is room, or as soon as it is known that no more is wanted (the next
    /// write says so); at once if that has happened already. Until then the connection is suspended, and neither the
    /// next bytes nor the exchange come, even if the body was complete. An `action` that comes too late, after
    /// ``abandon()``, does nothing.
    ///
    /// Default: calls it at once, for sinks that are never full.
    func onRoom(_ action: @escaping @Sendable () -> Void)

    /// The client went away before its body was complete, or was cut off, or the daemon stops: the exchange will never
    /// start. Not called once it has. While the sink is full a client that has only closed its sending side counts as
    /// gone, too.
    func abandon()
}

extension BodySink {
    /// Calls `action` at once.
    public func onRoom(_ action: @escaping @Sendable () -> Void) {
        action()
    }
}

/// What became of the body of a request.
public enum ReceivedBody: Sendable {
    /// Nobody asked for it: ``BodyPolicy/none``.
    case none
    /// All of it, empty when there was none: ``BodyPolicy/memory(limit:)``.
    case memory([UInt8])
    /// The sink took that many bytes: all of it, unless it said ``Primitives/Backpressure/closed``.
    case sunk(byteCount: Int64)
    /// It was, or said that it would be, longer than allowed.
    case tooLarge
    /// The bodies of all requests together take ``Daemon/Configuration/bodyMemoryLimit`` already.
    case noMemory
    /// The sink threw this.
    case failed(any Error)
}
