import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// The answer to a ``GatewayRequest``.
package struct GatewayAnswer: Sendable {
    /// The status, 200 to 999.
    package var status: Int
    /// The fields, in order. The server adds the connection's fields and the length of the body.
    package var fields: HTTPFields
    /// The body that follows the head.
    package var body: Body
    /// The reuse of this answer for other requests without asking the gateway; `nil` when each request must ask.
    package var reuse: AnswerReuse?

    /// The body of an answer.
    package enum Body: Sendable {
        /// No body, because the status or the method has none. `length`: the length that the body would have; `nil`:
        /// unknown.
        case withheld(length: Int64?)
        /// The given pieces, one after another.
        case pieces([Piece])
        /// A body that is still arriving from the origin.
        case live(LiveBody)
    }

    /// A piece of a body that is available.
    package enum Piece: Sendable {
        case bytes(SharedBytes)
        case stored(StoredBody, Range<Int64>)

        /// The length of the piece, in bytes.
        package var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .stored(_, let range): Int64(range.count)
            }
        }
    }
}

/// A body, or a part of a body, that is still arriving from the origin.
package struct LiveBody: Sendable {
    let flow: BodyFlow
    let range: Range<Int64>?
    /// The length of the body or part, in bytes; `nil` when it is unknown.
    package let length: Int64?

    /// Begins to give the body to a client. Call it once.
    package func feed(_ consumer: any BodyConsumer) {
        flow.feed(consumer, from: range?.lowerBound ?? 0, to: range?.upperBound)
    }

    /// Returns all of the body, in place of ``feed(_:)``, when the body has arrived by now and is short. Call it once.
    /// `nil`: call ``feed(_:)``.
    package func takeWhole() -> SharedBytes? {
        length.flatMap { flow.take(range ?? 0..<$0) }
    }

    /// Notes that the client does not read the body, in place of ``feed(_:)``.
    package func dismiss() {
        flow.dismiss()
    }
}

/// The error of a request that gets no answer.
package struct GatewayError: Error, Sendable {
    /// The causes of the error.
    package enum Cause: Sendable {
        /// The request has `only-if-cached`, and the cache holds no response that may be used (RFC 9111 §5.2.1.7).
        case notCached
        /// The origin could not be asked, or failed before the head of its answer arrived.
        case origin(DownloadError)
        /// The same, and the held response must not be used without validation (RFC 9111 §5.2.2.2).
        case cannotValidate(DownloadError)
    }

    /// The cause of the error.
    package var cause: Cause
    /// The handling of the request, for Cache-Status.
    package var status: CacheStatus
}
