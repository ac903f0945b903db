import DiskCache
import HTTPCaching
import Primitives

/// What changes stored responses other than a new answer to GET.
extension Gateway {
    /// Takes what the answer to HEAD says about a stored answer to GET (RFC 9111 §4.3.5).
    ///
    /// - Parameter whole: the answer with the fields that end at this hop; see ``HeldResponse/update(from:_:for:)``.
    func compare(_ held: HeldResponse, with answer: OriginAnswer, _ whole: OriginAnswer, _ call: GatewayCall) {
        var (head, judged) = (held.entryHead, held.entryHead)
        guard judged.update(fromHEAD: whole, for: call.cacheRequest) != .unrelated,
            head.update(fromHEAD: answer, for: call.cacheRequest) != .unrelated
        else { return }
        (head.grant, head.selection) = (judged.grant, judged.selection)
        let reservation = tools.cache.reserve(responseTo: call.url)
        reservation.decide(CacheKey(held.entry.key) ?? reservation.key, tags: CacheGroups(head.fields).names)
        // Unless it was replaced meanwhile: then this is about another.
        let refresh = call.refresh(of: held.entry, head, from: answer.requestedAt, to: answer.receivedAt)
        reservation.publishUnchanged(held.entry, refresh) { _ in }
    }

    /// Sets by hand until when a stored response is fresh, and its tags and whether it is pinned; what is `nil` stays.
    ///
    /// The ttl counts for everyone from now on, until the origin says something again.
    ///
    /// - Parameter condition: sees the entry at the instant of its change; when it returns `false` nothing is changed
    ///   and `completion` gets `DiskCacheError.conditionFailed`. `nil`: none.
    public func update(
        _ key: String, ttl: Duration?, tags: [String]?, pinned: Bool?, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        let isTTLSet = ttl != nil
        tools.cache.update(
            key, ttl: ttl, tags: tags, pinned: pinned,
            fields: { entry in
                guard isTTLSet, var head = entry.fields.flatMap({ StoredResponse(text: $0) }) else {
                    return entry.fields
                }
                head.isExpirySet = true
                return head.text
            }, condition: condition, completion: completion)
    }

    /// Removes what a change at the origin has made wrong (RFC 9111 §4.4, RFC 9875 §3); `completion` comes once that is
    /// durable.
    ///
    /// - Parameter reservation: of the answer that says so, which may be kept itself.
    func invalidate(
        _ urls: [String], _ groups: CacheGroups, of url: ExactURL, sparing reservation: Reservation?,
        completion: @escaping @Sendable () -> Void
    ) {
        let origin = "\(url.scheme)://\(url.authority)/"
        let filters =
            urls.map { EntryFilter(url: $0, kind: .response) }
            + groups.names.map { EntryFilter(prefix: origin, tag: $0, kind: .response) }
        tools.cache.remove(matching: filters, sparing: reservation) { _ in
            // An index that cannot be written is told of by the cache itself; the client's change has been made.
            completion()
        }
    }
}
