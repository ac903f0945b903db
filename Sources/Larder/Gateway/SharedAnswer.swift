import HTTPCaching
import HTTPTypes
import Origin

/// An answer with a head that has arrived from the origin.
struct ArrivedAnswer: Sendable {
    let answer: OriginAnswer
    let head: OriginHead
    /// The reason for not keeping the answer; `nil` when it is kept.
    var pass: PassReason?
    /// The answer as it is being stored; `nil` when it is not kept.
    var kept: SharedAnswer?
}

/// An answer that is being stored, so that several clients may share it.
final class SharedAnswer: Sendable {
    let head: StoredResponse
    /// The key of the future entry.
    let key: String
    let flow: BodyFlow
    /// The length of the body, in bytes; `nil` when the origin did not state it.
    let length: Int64?

    init(head: StoredResponse, key: String, flow: BodyFlow, length: Int64?) {
        self.head = head
        self.key = key
        self.flow = flow
        self.length = length
    }

    /// The same answer with other fields, for a single client.
    func with(_ fields: HTTPFields) -> SharedAnswer {
        var head = head
        head.fields = fields
        return SharedAnswer(head: head, key: key, flow: flow, length: length)
    }
}
