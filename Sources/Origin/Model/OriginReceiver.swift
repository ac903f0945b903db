/// Receives the response of a transfer: the head once, then the body in pieces, then the end, exactly once and last.
///
/// The calls of a transfer come in sequence, on a single thread of the client; calls of different transfers may
/// overlap. A thread serves many transfers, so no call may block. Every call may start and cancel transfers.
package protocol OriginReceiver: AnyObject, Sendable {
    /// The head of an interim response (RFC 9110 §15.2), at its arrival and in order, before the final head; also for
    /// requests that are redirected. Not called for 100, and an unexpected 101 is an error. Has no effect by default.
    func originDidAnswerInterim(_ head: OriginHead)
    /// The head of the final response, once; not called when the transfer ends before it. An error that this call
    /// throws ends the transfer with ``OriginError/Kind/receiver(_:)``.
    func originDidAnswer(_ head: OriginHead) throws
    /// The next bytes of the body, never empty and valid only during the call. An error that this call throws ends the
    /// transfer.
    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws
    /// All bytes that arrived together with the head of the response have been delivered, unless the transfer is
    /// paused, and the response is not complete. A receiver that waits for such bytes can stop waiting. Called at
    /// most once for a response; not called when the response is already complete. Has no effect by default.
    func originDidPause()
    /// The end of the transfer. Only `success` means that the body is complete.
    func originDidFinish(_ result: Result<OriginSummary, OriginError>)
}

extension OriginReceiver {
    package func originDidAnswerInterim(_ head: OriginHead) {}
    package func originDidPause() {}
}

/// The result of a complete transfer.
package struct OriginSummary: Sendable {
    /// The number of delivered bytes of the body.
    package var byteCount: Int64
    package var framing: OriginFraming
    package var redirectCount: Int
    /// The number of times that a request was sent again after a failure.
    package var retryCount: Int
}
