import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// A hit that the gateway would answer again in the same way, except for the fields that depend on the time. It states
/// the requests that it answers, and for how long.
///
/// A request may get it under three conditions. Like the request of this hit, it has no field that limits a cache,
/// states a condition or asks for a part. It gives the same ttl. Its fields with the names in ``selectors`` have the
/// same values.
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

    /// - Parameters:
    ///   - fields: the fields of the answer, without the fields that the gateway adds about itself.
    ///   - now: the time of the answer.
    /// - Returns: `nil` when the gateway must decide about each such request.
    init?(
        of held: HeldResponse, _ entry: Entry, fields: HTTPFields, to call: GatewayCall, hot: HotEntry.Mark,
        changes: ChangeMark, now: Timestamp
    ) {
        guard !call.request.updatesExpiry, call.request.tags.isSubset(of: entry.tags) else { return nil }
        // A caller's grant says nothing about another caller; see ``ReusePolicy``.
        if call.request.ttl != nil, let grant = held.head.grant,
            grant.authorization != call.cacheRequest.authorization
        {
            return nil
        }
        freshness = held.head.freshness
        let remaining = held.head.remaining(for: call.cacheRequest, expiry: entry.expiryDate, now: now)
        statusUntil = now + remaining
        // With a caller's ttl, two limits count: the time left for the request, and the entry's expiry. A grant of
        // another caller is excluded above.
        freshUntil = call.request.ttl == nil ? statusUntil : min(statusUntil, entry.expiryDate)
        guard freshUntil > now else { return nil }
        selectors = held.selectors
        storedFields = fields
        key = entry.key
        self.entry = hot
        responses = changes
    }

    /// Returns the same hit with only the fields that `filter` returns.
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
