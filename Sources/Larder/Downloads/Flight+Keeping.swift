import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Keeping what came: a body, or word that the one that is held is still the origin's.
extension Flight {
    func store(head: OriginHead, summary: OriginSummary) {
        // RFC 9112 §6.3: without a length or chunks the body ends with the connection. Nothing at all is then more
        // likely a server that died than an empty resource.
        guard summary.byteCount > 0 || summary.framing.isFramed else {
            end(.failure(.transferFailed(code: 0, words: "the origin closed the connection without sending a body")))
            return
        }
        let now = tools.clock.now()
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
        metadata.pinned = request.pinned
        metadata.staleAllowance = staleAllowance
        state.withLock(\.reservation)?.publish(metadata) { [self] result in
            switch result {
            case .success(let outcome):
                end(.success(DownloadResult(outcome: .downloaded, entry: outcome.entry, isChange: true)))
            case .failure(let error): end(.failure(DownloadError(error)))
            }
        }
    }

    func revalidate(_ held: Entry, head: OriginHead) {
        // A redirect may lead elsewhere by now, to something that is older than what is held, but not the same; and a
        // 304 that names another version says nothing about the one that is held.
        let now = tools.clock.now()
        let validators = held.validators
        guard var record = OriginRecord(held.fields), record.url == head.effectiveURL,
            validators.areConfirmed(by: head.fields, madeAt: Self.madeAt(held), now: now)
        else {
            fetchWhole()
            return
        }
        // A tag that names other bytes leaves the one that is stored in its place.
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
        refresh.pinned = request.pinned
        refresh.staleAllowance = staleAllowance
        state.withLock(\.reservation)?.publishUnchanged(held, refresh) { [self] result in
            switch result {
            case .success(let outcome):
                end(.success(DownloadResult(outcome: .revalidated, entry: outcome.entry, isChange: true)))
            case .failure(.versionChanged): fetchWhole()
            case .failure(let error): end(.failure(DownloadError(error)))
            }
        }
    }

    /// When the origin made what is held, at the latest: when it was asked for, by a clock that is not the origin's and
    /// may differ from it by a minute.
    private static func madeAt(_ held: Entry) -> Timestamp? {
        held.downloadStartDate.map { $0 - .seconds(60) }
    }

    /// The body that the origin confirmed is not the one to keep, or has gone meanwhile: once more, without validators.
    private func fetchWhole() {
        state.withLock(\.reservation)?.abandon()
        reserve()
        depart(held: nil)
    }

    /// The caller's ttl; else the origin's own freshness; else the default, if the status is heuristically cacheable
    /// (RFC 9110 §15.1). Everything else is stale at once: what an origin forbids to keep or to reuse, and answers such
    /// as 201, 202 and 207 that are about this one request, because the next request may get another answer.
    private func lifetime(of status: Int, _ fields: HTTPFields, now: Timestamp) -> Duration {
        if let ttl = request.ttl { return ttl }
        let control = CacheControl(fields)
        if control.noStore || control.noCache { return .zero }
        if let stated = FreshnessLifetime(fields, receivedAt: now) { return stated.remaining }
        return Freshness.heuristicStatuses.contains(status) ? tools.options.defaultTTL : .zero
    }

    /// What an origin says about its body is kept when it is of a sensible length: a row of the index, an answer's head
    /// and a list of downloads are no place for a field of 100 KB.
    private static func bounded(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    }

    private var staleAllowance: Duration {
        max(request.staleWhileRevalidate ?? .zero, request.staleIfError ?? .zero)
    }
}
