import DiskCache
import HTTPCaching
import Primitives

/// Changes of stored responses, except by a new answer to GET.
extension Gateway {
    /// Updates a stored answer to GET from an answer to HEAD (RFC 9111 §4.3.5).
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
        // The cache drops the update if the entry was replaced meanwhile, because the answer is then about another
        // body.
        let refresh = call.refresh(of: held.entry, head, from: answer.requestedAt, to: answer.receivedAt)
        reservation.publishUnchanged(held.entry, refresh) { _ in }
    }

    /// Removes the responses that a change at the origin has made wrong (RFC 9111 §4.4, RFC 9875 §3). Calls
    /// `completion` once the removal is durable.
    ///
    /// - Parameter reservation: the reservation of the answer that causes the removal. The removal spares it, because
    ///   the answer itself may be kept.
    func invalidate(
        _ urls: [String], _ groups: CacheGroups, of url: ExactURL, sparing reservation: Reservation?,
        completion: @escaping @Sendable () -> Void
    ) {
        let origin = "\(url.scheme)://\(url.authority)/"
        let filters =
            urls.map { EntryFilter(url: $0, kind: .response) }
            + groups.names.map { EntryFilter(prefix: origin, tag: $0, kind: .response) }
        tools.cache.remove(matching: filters, sparing: reservation) { _ in
            // The client's change has been made, so an error is ignored here. The cache itself reports an index that
            // cannot be written.
            completion()
        }
    }
}
