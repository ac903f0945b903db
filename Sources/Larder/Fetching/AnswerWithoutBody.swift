import Origin
import Primitives

/// The meaning of an answer that brings no body to hold, for the resource and for its host: a pure value. Documents of
/// sources, members, and the documents of captured pages share it.
package struct AnswerWithoutBody: Hashable, Sendable {
    enum Meaning: Hashable, Sendable {
        /// 404 and 410; `forever`: 410.
        case gone(forever: Bool)
        /// The caller may not have the resource. A day may change this.
        case forbidden
        /// A failure that may pass.
        case failed
        /// Any other answer, such as a 400.
        case rejected
    }

    let meaning: Meaning
    let reason: String
    /// The time for which the origin wants no request for the resource; `nil`: it states none.
    var pause: Duration?
    /// The time for which the origin wants no request from the host. 429 is about the client and not about one resource
    /// (RFC 6585 §4), and 503 is about the server (RFC 9110 §15.6.4). `nil`: other requests may go on.
    var hostPause: Duration?

    init(_ head: OriginHead, at now: Timestamp) {
        reason = "the origin answered with status \(head.status)"
        pause = head.retryAfter(now: now).map(Duration.seconds)
        switch head.status {
        case 404: meaning = .gone(forever: false)
        case 410: meaning = .gone(forever: true)
        case 401, 403, 407, 451: meaning = .forbidden
        case 429:
            meaning = .failed
            hostPause = pause ?? Self.defaultPause
        case 503:
            meaning = .failed
            hostPause = pause
        case 408, 425, 500..<600: meaning = .failed
        default: meaning = .rejected
        }
    }

    /// The answer that a host in a pause would give.
    init(pause: Duration, reason: String) {
        (meaning, self.reason) = (.failed, reason)
        (self.pause, hostPause) = (pause, pause)
    }

    /// After a 429 without `Retry-After`.
    private static let defaultPause: Duration = .seconds(60)
    /// After an answer that only a change at the origin can better.
    static let refusalPause: Duration = .seconds(86_400)
}
