import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

package struct GatewayAnswer: Sendable {
    /// 200 to 999.
    package var status: Int
    /// In the order of sending. The server adds the connection's fields and the length of the body.
    package var fields: HTTPFields
    package var body: Body
    /// Tells which requests may get this answer again without asking the gateway; `nil` when each request must ask.
    package var reuse: AnswerReuse?

    package enum Body: Sendable {
        /// The status or the method has no body. `length` is the length that the body would have; `nil`: unknown.
        case withheld(length: Int64?)
        case pieces([Piece])
        case live(LiveBody)
    }

    package enum Piece: Sendable {
        case bytes(SharedBytes)
        case stored(StoredBody, Range<Int64>)

        /// In bytes.
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
    private let newcomer: BodyFlow.Newcomer

    init(flow: BodyFlow, range: Range<Int64>?, length: Int64?) {
        (self.flow, self.range, self.length, newcomer) = (flow, range, length, BodyFlow.Newcomer(flow))
    }

    /// Begins to give the body to a client. Call it once.
    package func feed(_ consumer: any BodyConsumer) {
        flow.feed(consumer, from: range?.lowerBound ?? 0, to: range?.upperBound)
    }

    /// Returns all of a short body that has arrived, in place of ``feed(_:)``; `nil`: call ``feed(_:)``. Call it once.
    package func takeWhole() -> SharedBytes? {
        length.flatMap { flow.take(range ?? 0..<$0) }
    }

    /// Call it in place of ``feed(_:)`` when the client does not read the body.
    package func dismiss() {
        flow.dismiss()
    }
}

/// The error of a request that gets no answer.
package struct GatewayError: Error, Sendable {
    package enum Cause: Sendable {
        /// The request has `only-if-cached`, and the cache holds no response that may be used (RFC 9111 §5.2.1.7).
        case notCached
        /// The origin could not be asked, or failed before the head of its answer arrived.
        case origin(DownloadError)
        /// As ``origin(_:)``, and the held response must not be used without validation (RFC 9111 §5.2.2.2).
        case cannotValidate(DownloadError)
    }

    package var cause: Cause
    /// The handling of the request, for Cache-Status.
    package var status: CacheStatus
}

/// The conditions for reusing the answer to a hit, and its fields, in which only times such as Age change.
///
/// A request may get the answer if it has no `Cache-Control` or `Pragma`, states no condition, and asks for no part. In
/// addition, its ttl and its fields with the names in ``selectors`` must have the values of the answered request.
package struct AnswerReuse: Sendable {
    /// The state of the entry in the memory tier from which the answer was made.
    package let entry: HotEntry.Mark
    /// The state of the URL's responses among which the answer was selected.
    package let responses: ChangeMark
    /// The request fields that select the answer among all held responses (RFC 9111 §4.1), in lower case.
    package let selectors: [String]

    private var storedFields: HTTPFields
    private let freshness: Freshness
    private let freshUntil: Timestamp
    private let statusUntil: Timestamp
    private let key: String

    /// `fields` lack `Cache-Status` and `Via`. Returns `nil` when each later request must ask the gateway.
    init?(
        of held: HeldResponse, _ entry: Entry, fields: HTTPFields, to call: GatewayCall, hot: HotEntry.Mark,
        changes: ChangeMark, now: Timestamp
    ) {
        guard !call.request.updatesExpiry, call.request.tags.isSubset(of: entry.tags) else { return nil }
        // A ``CallerGrant`` does not count for a caller with another Authorization; see ``ReusePolicy``.
        if call.request.ttl != nil, let grant = held.head.grant,
            grant.authorization != call.cacheRequest.authorization
        {
            return nil
        }
        freshness = held.head.freshness
        let remaining = held.head.remaining(for: call.cacheRequest, expiry: entry.expiryDate, now: now)
        statusUntil = now + remaining
        // A caller's ttl adds a limit, the entry's expiry. A grant of another caller is excluded above.
        freshUntil = call.request.ttl == nil ? statusUntil : min(statusUntil, entry.expiryDate)
        guard freshUntil > now else { return nil }
        selectors = held.selectors
        storedFields = fields
        key = entry.key
        self.entry = hot
        responses = changes
    }

    package func keeping(_ filter: (HTTPFields) -> HTTPFields) -> AnswerReuse {
        var reuse = self
        reuse.storedFields = filter(storedFields)
        return reuse
    }

    /// Returns the fields of the answer at an instant, and the time until which they stay the same, because Age counts
    /// seconds. Returns `nil` when the answer must not be given any more without asking the gateway.
    package func fields(at now: Timestamp) -> (fields: HTTPFields, until: Timestamp)? {
        guard now < freshUntil else { return nil }
        var fields = storedFields
        let age = freshness.currentAge(at: now).milliseconds
        if fields[.age] != nil { fields[.age] = String(age / 1000) }
        var status = CacheStatus(.hit)
        status.ttl = statusUntil - now
        status.key = key
        status.append(to: &fields)
        Via.append(to: &fields)
        return (fields, min(freshUntil, now + .milliseconds(1000 - age % 1000)))
    }
}

/// An answer from the origin after the arrival of its head.
struct ArrivedAnswer: Sendable {
    let answer: OriginAnswer
    let head: OriginHead
    /// The reason for not keeping the answer; `nil` when it is kept.
    var pass: PassReason?
    /// The answer as it is being stored; `nil` when it is not kept.
    var kept: SharedAnswer?
}

/// An answer that is being stored, so that several clients may share it.
///
/// A class, because answers are copied often, and each copy of a head would retain its many references.
final class SharedAnswer: Sendable {
    let head: StoredResponse
    /// The key of the future entry.
    let key: String
    let flow: BodyFlow
    /// The length of the body, in bytes; `nil` when the origin did not state it.
    let length: Int64?

    init(head: StoredResponse, key: String, flow: BodyFlow, length: Int64?) {
        (self.head, self.key, self.flow, self.length) = (head, key, flow, length)
    }

    /// The same answer with other fields, for a single client.
    func with(_ fields: HTTPFields) -> SharedAnswer {
        var head = head
        head.fields = fields
        return SharedAnswer(head: head, key: key, flow: flow, length: length)
    }
}
