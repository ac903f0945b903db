import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// A hit that the gateway would answer again in the same way, but for what tells the time in it: for whom, and for how
/// long.
///
/// Only for requests that, like this one, have no field that limits what a cache may do, states a condition or asks for
/// a part; that give the same ttl; and whose fields of the names ``selectors`` say the same.
public struct AnswerReuse: Sendable {
    /// The entry in the memory tier that the answer was made of.
    public let entry: HotEntry.Mark
    /// The responses of the URL that it was selected from.
    public let responses: ChangeMark
    /// The fields of a request by which the answer is selected among all that is held (RFC 9111 §4.1), in lower case.
    public let selectors: [String]

    private var storedFields: HTTPFields
    private let freshness: Freshness
    private let freshUntil: Timestamp
    private let statusUntil: Timestamp
    private let key: String

    /// - Parameters:
    ///   - fields: those of the answer, but for what the gateway says of itself.
    ///   - now: when it was made.
    /// - Returns: `nil` when each such request has to be looked at.
    init?(
        of held: HeldResponse, _ entry: Entry, fields: HTTPFields, to call: GatewayCall, hot: HotEntry.Mark,
        changes: ChangeMark, now: Timestamp
    ) {
        guard !call.request.updatesExpiry, call.request.tags.isSubset(of: entry.tags) else { return nil }
        // What one caller granted says nothing about another; see ``ReusePolicy``.
        if call.request.ttl != nil, let grant = held.head.grant,
            grant.authorization != call.cacheRequest.authorization
        {
            return nil
        }
        freshness = Freshness(of: held.head)
        let remaining = held.head.remaining(for: call.cacheRequest, expiry: entry.expiryDate, now: now)
        statusUntil = now + remaining
        // With a caller's ttl, and no other one's before, both count.
        freshUntil = call.request.ttl == nil ? statusUntil : min(statusUntil, entry.expiryDate)
        guard freshUntil > now else { return nil }
        selectors = held.selectors
        storedFields = fields
        key = entry.key
        self.entry = hot
        responses = changes
    }

    /// The same with those fields only that `filter` gives back.
    public func keeping(_ filter: (HTTPFields) -> HTTPFields) -> AnswerReuse {
        var reuse = self
        reuse.storedFields = filter(storedFields)
        return reuse
    }

    /// The fields of the answer at an instant, and until when they stay as they are: Age counts seconds. `nil` when the
    /// answer must not be given any more without asking the gateway.
    public func fields(at now: Timestamp) -> (fields: HTTPFields, until: Timestamp)? {
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
