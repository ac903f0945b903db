import HTTPTypes

/// Receives the response of a transfer: the head once, the body in pieces, and the end exactly once and last. The calls
/// of a transfer come one after another, on a thread that serves many transfers. They must not block, and may start and
/// cancel transfers.
package protocol OriginReceiver: AnyObject, Sendable {
    /// Called before the request waits in the queue, and again each time when the request is about to be sent: after
    /// the wait, after a redirect, and for a further try. `origin` has the scheme, host and port of the request, as
    /// ``OriginRequest/origin``. A thrown error ends the transfer before the origin is contacted.
    func originWillBeAsked(_ origin: String) throws
    /// Called when the head of an interim response (RFC 9110 §15.2) arrives, even if the final response is a redirect
    /// that the client follows. Not called for 100; an unexpected 101 is an error.
    func originDidAnswerInterim(_ head: OriginHead)
    /// The head of the final response. A thrown error ends the transfer with ``OriginError/Kind/receiver(_:)``.
    func originDidAnswer(_ head: OriginHead) throws
    /// The next bytes of the body, never empty, and valid during the call only. A thrown error ends the transfer.
    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws
    /// Called when all bytes that arrived together with the head have been delivered, unless the transfer is paused.
    /// Called at most once for a response, and not for a response that is already complete.
    func originDidPause()
    /// The end of the transfer. Only `success` means that the body is complete.
    func originDidFinish(_ result: Result<OriginSummary, OriginError>)
}

extension OriginReceiver {
    package func originWillBeAsked(_ origin: String) throws {}
    package func originDidAnswerInterim(_ head: OriginHead) {}
    package func originDidPause() {}
}

/// The head of a response.
package struct OriginHead: Sendable {
    /// 200 to 999; 102 to 199 for an interim response; 200 for FTP.
    package var status: Int
    /// All field lines in order, without trailers. Names and values as sent, UTF-8 or not, without surrounding white
    /// space and with spaces for control characters. For FTP: `Content-Length` and `Last-Modified`, if known.
    package var fields: HTTPFields
    /// The URL of the response, after redirects, without a fragment.
    package var effectiveURL: String
    /// The length of the delivered body; `nil` when it is unknown, and when a content coding is decoded. For `HEAD`:
    /// the length of the body for `GET`. 0 for a status that allows no body, regardless of `Content-Length`.
    package var declaredLength: Int64?
    package var framing: OriginFraming
    /// `1.0`, `1.1` or `2`; `ftp` for FTP.
    package var version: String
    /// Whether the origin authenticates the connection and not the request (NTLM, Negotiate). If so, only the caller of
    /// the connection may get the response, regardless of its fields (RFC 4559 §6).
    package var authenticatesConnection = false

    /// The scheme, host and port of ``effectiveURL``, as ``OriginRequest/origin``.
    package var origin: String? { try? OriginURL(effectiveURL).origin }
}

/// The mark of the end of a body. A content coding marks its own end, which must arrive, too.
package enum OriginFraming: Sendable, Hashable {
    /// The response cannot have a body (RFC 9110 §6.4.1: 1xx, 204, 304, and every response to `HEAD`).
    case noBody
    /// `Content-Length` gives the length.
    case length
    /// The last chunk ends the body (RFC 9112 §7.1).
    case chunked
    /// The end of an HTTP/2 stream ends the body.
    case stream
    /// The server's reply on FTP's control connection ends the body.
    case ftp
    /// Only the close of the connection ends the body, so a missing part cannot be detected (RFC 9112 §8).
    case close

    /// Whether the end of the body shows that the body is complete.
    package var isFramed: Bool { self != .close }
}

/// The result of a complete transfer.
package struct OriginSummary: Sendable {
    /// The number of bytes of the body that were delivered.
    package var byteCount: Int64
    package var framing: OriginFraming
    package var redirectCount: Int
    package var retryCount: Int
}
