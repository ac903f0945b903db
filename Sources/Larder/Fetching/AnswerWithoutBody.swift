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
    /// `nil`: requests for other resources of the host may go on.
    var hostWish: HostWish?

    init(_ head: OriginHead, at now: Timestamp) {
        reason = "the origin answered with status \(head.status)"
        pause = head.retryAfter(now: now).map(Duration.seconds)
        switch head.status {
        case 404: meaning = .gone(forever: false)
        case 410: meaning = .gone(forever: true)
        case 401, 403, 407, 451: meaning = .forbidden
        case 408, 425, 429, 500..<600: meaning = .failed
        default: meaning = .rejected
        }
        hostWish = HostWish(head, at: now)
    }

    /// The answer that a host in a pause would give.
    init(_ wish: HostWish, reason: String) {
        (meaning, self.reason) = (.failed, reason)
        (pause, hostWish) = (wish.time, wish)
    }

    /// After an answer that only a change at the origin can better.
    static let refusalPause: Duration = .seconds(86_400)
}
