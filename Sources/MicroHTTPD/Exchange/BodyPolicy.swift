import Primitives

/// The destination of a request's body. Unwanted bytes are discarded, up to ``DaemonConfiguration/discardLimit``;
/// beyond it the connection is closed without an answer. A body with a `Content-Length` above the policy's limit (for
/// ``none`` the discard limit) is not read at all if the `Content-Length` also exceeds the discard limit, or if the
/// client waits for the go-ahead. Then the exchange starts at once, with the body ``ReceivedBody/tooLarge``, and the
/// connection closes after the answer.
package enum BodyPolicy: Sendable {
    case none
    /// Collects at most `limit` bytes; a larger body is ``ReceivedBody/tooLarge``.
    case memory(limit: Int)
    case sink(any BodySink)
}

/// Takes a body piece by piece, on libmicrohttpd's thread. The daemon reads no faster than the sink takes the body.
package protocol BodySink: AnyObject, Sendable {
    /// The bytes are valid during the call only. The sink takes all of them, unless it returns
    /// ``Primitives/Backpressure/closed``. Then the rest of the body is discarded, up to
    /// ``DaemonConfiguration/discardLimit``, and the exchange starts at the end of the body. (Starting earlier would
    /// not help: libmicrohttpd takes an answer before the body or after it, never in between.) The first error ends the
    /// calls: the exchange gets it as ``ReceivedBody/failed(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure

    /// Calls `action` once, from any thread, as soon as the sink has room or is known to want no more bytes (then the
    /// next write returns ``Primitives/Backpressure/closed``); at once if that has happened already (the default, for
    /// sinks that are never full). The daemon calls this after each write that returned
    /// ``Primitives/Backpressure/full``, on the same thread. Until `action` is called the connection is suspended: no
    /// further bytes come, and the exchange does not start even if the body is complete. A late call, after
    /// ``abandon()``, has no effect.
    func onRoom(_ action: @escaping @Sendable () -> Void)

    /// The exchange will never start, because the client went away before its body was complete, or was cut off, or the
    /// daemon stops. While the sink is full, a client that has only closed its sending side counts as gone, too.
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
