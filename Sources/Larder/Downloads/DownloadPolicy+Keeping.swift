import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Storing the outcome of a download: a new body, or the origin's confirmation of the held body.
extension DownloadPolicy {
    func store(_ summary: OriginSummary, for fetch: DownloadFetch) {
        let (head, reservation) = fetch.state.withLock { ($0.head, $0.reservation) }
        guard let head, let reservation else { return fetch.handle(.broke(.stopping)) }
        // RFC 9112 §6.3: without a length or chunks, the body ends with the connection. An empty body then comes more
        // likely from a server that died than from an empty resource.
        guard summary.byteCount > 0 || summary.framing.isFramed else {
            let words = "the origin closed the connection without sending a body"
            return fetch.handle(.broke(.transferFailed(code: 0, words: words)))
        }
        let now = fetch.tools.clock.now()
        let record = OriginRecord(url: head.effectiveURL, fields: head.fields, isAsSent: request.keepsCodings)
        var metadata = EntryMetadata(ttl: lifetime(of: head.status, head.fields, now: now))
        metadata.fields = Self.bounded(record.text)
        metadata.status = head.status
        metadata.contentType = Self.bounded(head.fields[fields: .contentType].first?.text)
        metadata.etag = Self.bounded(head.fields[fields: .eTag].first?.text)
        metadata.lastModified = Self.bounded(head.fields[fields: .lastModified].first?.text)
        metadata.params = request.params?.text
        metadata.downloadStartDate = startDate
        metadata.downloadEndDate = now
        let wishes = publishWishes(of: fetch)
        metadata.pinned = wishes.pinned
        metadata.staleAllowance = wishes.staleAllowance
        reservation.publish(metadata) { result in
            switch result {
            case .success(let outcome): fetch.succeed(.downloaded, outcome.entry, .stored)
            case .failure(let error): fetch.handle(.broke(DownloadError(error)))
            }
        }
    }

    func refresh(for fetch: DownloadFetch) {
        let (held, head, reservation) = fetch.state.withLock { ($0.notes.held, $0.head, $0.reservation) }
        guard let held, let head, let reservation else { return fetch.handle(.broke(.stopping)) }
        // A redirect may lead to another URL by now. The response there may be older than the held entry, and still not
        // be the same. And a 304 that names another version does not confirm the held entry.
        let now = fetch.tools.clock.now()
        let validators = held.validators
        guard var record = OriginRecord(held.fields), record.url == head.effectiveURL,
            validators.areConfirmed(by: head.fields, madeAt: Self.madeAt(held), now: now)
        else {
            return fetch.handle(.refreshed(.changed))
        }
        // A tag that names other bytes does not replace the stored tag.
        let keepsTag = !validators.mayBeReplaced(byTagOf: head.fields)
        record.update(from: head.fields, keepsTag: keepsTag)
        var fields = record.freshness
        for name in [HTTPField.Name.date, .age] { fields[values: name] = head.fields[values: name] }
        var refresh = EntryRefresh(ttl: lifetime(of: held.status, fields, now: now))
        refresh.fields = Self.bounded(record.text)
        refresh.etag = keepsTag ? nil : Self.bounded(head.fields[fields: .eTag].first?.text)
        refresh.lastModified = Self.bounded(head.fields[fields: .lastModified].first?.text)
        refresh.downloadStartDate = startDate
        refresh.downloadEndDate = now
        let wishes = publishWishes(of: fetch)
        refresh.pinned = wishes.pinned
        refresh.staleAllowance = wishes.staleAllowance
        reservation.publishUnchanged(held, refresh) { result in
            switch result {
            case .success(let outcome): fetch.succeed(.revalidated, outcome.entry, .refreshed(.stored))
            case .failure(.versionChanged): fetch.handle(.refreshed(.changed))
            case .failure(let error): fetch.handle(.broke(DownloadError(error)))
            }
        }
    }

    /// Returns the wishes of all callers so far, which go to the cache with the entry.
    private func publishWishes(of fetch: DownloadFetch) -> EntryWishes {
        fetch.state.withLock { state in
            state.notes.published = state.notes.wishes
            return state.notes.wishes
        }
    }

    /// The latest time at which the origin can have made the held body: the start of its download, less a minute,
    /// because the origin's clock may differ from Larder's by that much.
    private static func madeAt(_ held: Entry) -> Timestamp? {
        held.downloadStartDate.map { $0 - .seconds(60) }
    }

    /// The caller's ttl; else the origin's own freshness; else the default, if the status is heuristically cacheable
    /// (RFC 9110 §15.1). Every other answer is stale at once: answers that the origin forbids to keep or to reuse, and
    /// answers such as 201, 202 and 207 that are about this single request, because the next request may get another
    /// answer.
    private func lifetime(of status: Int, _ fields: HTTPFields, now: Timestamp) -> Duration {
        if let ttl = request.ttl { return ttl }
        let control = CacheControl(fields)
        if control.noStore || control.noCache { return .zero }
        if let stated = FreshnessLifetime(fields, receivedAt: now) { return stated.remaining }
        return Freshness.heuristicStatuses.contains(status) ? manager.tools.options.defaultTTL : .zero
    }

    /// A value that the origin states is kept only up to 1,024 bytes. Rows of the index, heads of answers and lists of
    /// downloads are no place for a field of 100 KB.
    private static func bounded(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    }
}

extension DownloadFetch {
    fileprivate func succeed(_ outcome: DownloadOutcome, _ entry: Entry, _ event: Event) {
        state.withLock { $0.notes.result = DownloadResult(outcome: outcome, entry: entry, isChange: true) }
        handle(event)
    }
}
