import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// What a client gets for a ``GatewayRequest``.
public struct GatewayAnswer: Sendable {
    /// The status, 200 to 999.
    public var status: Int
    /// The fields, in order; those of the connection and the length of the body are the server's business.
    public var fields: HTTPFields
    /// What follows.
    public var body: Body
    /// How the same can be sent to others, without asking the gateway; `nil`: it cannot.
    public var reuse: AnswerReuse?

    /// The body of an answer.
    public enum Body: Sendable {
        /// Nothing, for a status or a method that has no body; the length that the body would have, where it is known.
        case withheld(length: Int64?)
        /// These pieces, one after another.
        case pieces([Piece])
        /// What is still coming from the origin.
        case live(LiveBody)
    }

    /// A piece of a body that is there.
    public enum Piece: Sendable {
        case bytes(SharedBytes)
        case stored(StoredBody, Range<Int64>)

        /// How many bytes it has.
        public var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .stored(_, let range): Int64(range.count)
            }
        }
    }
}

/// A body, or a part of one, that is still coming from the origin.
public struct LiveBody: Sendable {
    let flow: BodyFlow
    let range: Range<Int64>?
    /// How long it will be; `nil` when nobody knows.
    public let length: Int64?

    /// Begins to give it to a client; once.
    public func feed(_ consumer: any BodyConsumer) {
        flow.feed(consumer, from: range?.lowerBound ?? 0, to: range?.upperBound)
    }

    /// All of it, when it has come by now and is not long; in place of ``feed(_:)``, and once. `nil`: it is to be fed.
    public func takeWhole() -> SharedBytes? {
        length.flatMap { flow.take(range ?? 0..<$0) }
    }

    /// Nobody will read it; in place of ``feed(_:)``.
    public func dismiss() {
        flow.dismiss()
    }
}

/// Why there is no answer to pass on.
public struct GatewayError: Error, Sendable {
    /// What went wrong.
    public enum Cause: Sendable {
        /// `only-if-cached`, and nothing that may be used is held (RFC 9111 §5.2.1.7).
        case notCached
        /// The origin could not be asked, or failed before the head of its answer was there.
        case origin(DownloadError)
        /// The same, and it forbids that what is held is used without asking (RFC 9111 §5.2.2.2).
        case cannotValidate(DownloadError)
    }

    /// What went wrong.
    public var cause: Cause
    /// What was done about the request.
    public var status: CacheStatus
}
