import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

typealias DownloadFetch = Fetch<DownloadPolicy>

struct DownloadWaiter: Sendable {
    let request: DownloadRequest
    let completion: DownloadManager.Completion
}

/// The policy of `/download`: one fetch for each key, answers when the entry is stored, errors for 206 and non-2xx.
struct DownloadPolicy: FetchPolicy {
    typealias Caller = DownloadWaiter

    struct Notes: Sendable {
        var progress = DownloadProgress()
        /// The tags, stale allowance and pin that all callers so far ask for.
        var wishes: EntryWishes
        /// The part of `wishes` that came too late to be stored with the entry, because the cache already wrote it.
        var unpublished: EntryWishes
        /// The entry that the caller found expired, or asks to refresh; later the entry that gave the sent validators.
        var held: Entry?
        /// The result for the callers; `nil` until there is an entry.
        var result: DownloadResult?
    }

    let request: DownloadRequest
    let key: CacheKey
    let manager: DownloadManager
    let startDate: Timestamp
    /// The confirmations of the outbox before the start; see ``PendingKeys/ticket``.
    let ticket: UInt64
    private let start = ContinuousClock.now

    /// `held` is the entry that the caller found expired, or asks to refresh.
    static func makeFetch(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, manager: DownloadManager,
        _ machine: (FetchRules) -> FetchMachine<Caller>
    ) -> DownloadFetch {
        let policy = DownloadPolicy(
            request: request, key: key, manager: manager, startDate: manager.tools.clock.now(),
            ticket: manager.tools.pending.ticket)
        let notes = Notes(wishes: request.wishes, unpublished: request.wishes, held: held)
        return Fetch(policy, machine(policy.rules), notes: notes, tools: manager.tools)
    }

    let rules = FetchRules(deliversAtHead: false, isShared: true, queuesLateCallers: true, outlivesCallers: true)
    var elapsed: Duration { ContinuousClock.now - start }

    func reserve(for fetch: DownloadFetch) {
        let reservation = fetch.tools.cache.reserve(
            key, kind: .download, url: request.url.string, pinned: request.pinned)
        // Reads the tags in the step that sets the reservation. `admit` adds later callers' tags to the reservation.
        let tags = fetch.state.withLock { state in
            state.reservation = reservation
            return state.notes.wishes.tags
        }
        reservation.addTags(tags.sorted())
    }

    func lookAgain(for fetch: DownloadFetch, completion: @escaping @Sendable (Bool) -> Void) {
        fetch.tools.cache.find(key.text, expectingURL: request.url.string) { found in
            let stored = (try? found.get())?.entry
            let isFresh = !request.refresh && stored?.isFresh(at: fetch.tools.clock.now()) == true
            let isFound = fetch.state.withLock { state in
                let isNew = stored?.version != state.notes.held?.version
                state.notes.held = stored
                guard let stored, isNew, isFresh else { return false }
                state.notes.result = DownloadResult(outcome: .cached, entry: stored)
                return true
            }
            completion(isFound)
        }
    }

    func forgetHeld(for fetch: DownloadFetch) {
        fetch.state.withLock { $0.notes.held = nil }
    }

    func makeRequest(for fetch: DownloadFetch) -> OriginRequest {
        let validators = fetch.state.withLock { state in
            if state.notes.held?.validators.isEmpty == true { state.notes.held = nil }
            return state.notes.held?.validators
        }
        var origin = OriginRequest(url: request.url.requestURL)
        origin.fields = request.fields
        for field in validators?.conditionalFields ?? [:] { origin.fields.append(field) }
        origin.decodesContent = !request.keepsCodings
        origin.sizeLimit = manager.entryLimit
        origin.addressPolicy = fetch.tools.options.addressPolicy
        return origin
    }

    func willAsk(_ origin: String, for fetch: DownloadFetch) throws {
        try fetch.tools.checkPause(of: origin)
    }

    func judge(_ head: OriginHead, for fetch: DownloadFetch) throws -> DownloadFetch.Event? {
        let (reservation, isConditional) = fetch.state.withLock { state in
            state.notes.progress.totalBytes = head.declaredLength
            return (state.reservation, state.notes.held != nil)
        }
        if head.status == 304, isConditional { return .confirmed }
        guard (200..<300).contains(head.status), head.status != 206 else {
            fetch.tools.notePause(head)
            throw DownloadError.originStatus(head.status, retryAfter: head.retryAfter(now: fetch.tools.clock.now()))
        }
        // An answer on an authenticated connection is for one client (RFC 4559 §6), but an entry is for every caller.
        guard !head.authenticatesConnection else { throw DownloadError.connectionAuthentication }
        if let length = head.declaredLength { try reservation?.expect(length: length) }
        return .began(isKept: true, isOpen: true)
    }

    func didReceive(_ bytes: UnsafeRawBufferPointer, for fetch: DownloadFetch) throws {
        let isHeard = manager.events.isHeard
        let (reservation, turn) = fetch.state.withLock { state in
            state.notes.progress.receivedBytes += Int64(bytes.count)
            return (state.reservation, isHeard ? state.notes.progress.pace.turn(at: .now) : nil)
        }
        try reservation?.receive(bytes)
        if let turn { fetch.report(turn) }
    }

    func end(_ outcome: DownloadFetch.Outcome, for waiters: [DownloadFetch.Waiter], of fetch: DownloadFetch) {
        let (result, unpublished) = fetch.state.withLock { ($0.notes.result, $0.notes.unpublished) }
        let landed: Result<DownloadResult, DownloadError> =
            switch (outcome, result) {
            case (.failed(let error), _): .failure(error)
            case (_, let result?): .success(result)
            case (_, nil): .failure(.storage("the download ended without an entry"))
            }
        manager.land(fetch, with: landed, for: waiters, unpublished: unpublished)
    }

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
        var metadata = EntryMetadata(
            of: head, isAsSent: request.keepsCodings, ttl: lifetime(of: head.status, head.fields, now: now))
        metadata.params = request.params?.text
        complete(&metadata, of: fetch, now: now)
        reservation.publish(metadata) { result in
            switch result {
            case .success(let outcome):
                noteStored(outcome, for: fetch)
                fetch.succeed(.downloaded, outcome.entry, .stored)
            case .failure(let error): fetch.handle(.broke(DownloadError(error)))
            }
        }
    }

    func refresh(for fetch: DownloadFetch) {
        let (held, head, reservation) = fetch.state.withLock { ($0.notes.held, $0.head, $0.reservation) }
        guard let held, let head, let reservation else { return fetch.handle(.broke(.stopping)) }
        let now = fetch.tools.clock.now()
        let metadata = EntryMetadata(of: head, confirming: held, now: now) { fields in
            lifetime(of: held.status, fields, now: now)
        }
        guard var refresh = metadata else { return fetch.handle(.refreshed(.changed)) }
        complete(&refresh, of: fetch, now: now)
        reservation.publishUnchanged(held, refresh) { result in
            switch result {
            case .success(let outcome):
                noteStored(outcome, for: fetch)
                fetch.succeed(.revalidated, outcome.entry, .refreshed(.stored))
            case .failure(.versionChanged): fetch.handle(.refreshed(.changed))
            case .failure(let error): fetch.handle(.broke(DownloadError(error)))
            }
        }
    }

    /// Lets the confirmed changes of the outbox that the version has leave the view of readers.
    private func noteStored(_ outcome: PublishOutcome, for fetch: DownloadFetch) {
        guard case .stored(let entry) = outcome else { return }
        fetch.tools.pending.noteStored(
            PendingKeys.StoredVersion(
                namespace: entry.namespace, key: entry.key, ticket: ticket, etag: entry.etag, digest: entry.digest))
    }

    /// Sets the dates, and the pin and the stale allowance that all callers so far ask for.
    private func complete(_ metadata: inout EntryMetadata, of fetch: DownloadFetch, now: Timestamp) {
        (metadata.downloadStartDate, metadata.downloadEndDate) = (startDate, now)
        let wishes = fetch.state.withLock { state in
            state.notes.unpublished = EntryWishes()
            return state.notes.wishes
        }
        (metadata.pinned, metadata.staleAllowance) = (wishes.pinned, wishes.staleAllowance)
    }

    private func lifetime(of status: Int, _ fields: HTTPFields, now: Timestamp) -> Duration {
        request.ttl ?? manager.tools.options.lifetime(of: status, fields, now: now)
    }
}

extension NamespaceOptions {
    /// The origin's own freshness; else the default, if the status is heuristically cacheable (RFC 9110 §15.1). Every
    /// other answer is stale at once: answers that the origin forbids to keep or to reuse, and answers such as 201, 202
    /// and 207 that are about this single request.
    func lifetime(of status: Int, _ fields: HTTPFields, now: Timestamp) -> Duration {
        let control = CacheControl(fields)
        if control.noStore || control.noCache { return .zero }
        if let stated = FreshnessLifetime(fields, receivedAt: now) { return stated.remaining }
        return Freshness.heuristicStatuses.contains(status) ? defaultTTL : .zero
    }
}

extension DownloadFetch {
    fileprivate func succeed(_ outcome: DownloadOutcome, _ entry: Entry, _ event: Event) {
        state.withLock { $0.notes.result = DownloadResult(outcome: outcome, entry: entry, isChange: true) }
        handle(event)
    }
}
