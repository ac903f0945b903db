import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// One download of one key.
typealias DownloadFetch = Fetch<DownloadPolicy>

/// A caller that waits for a download.
struct DownloadWaiter: Sendable {
    let request: DownloadRequest
    let completion: DownloadManager.Completion
}

/// The policy of `/download`: a key has one fetch at a time, callers get the entry once it is stored, and every answer
/// outside 2xx is an error.
struct DownloadPolicy: FetchPolicy {
    typealias Caller = DownloadWaiter

    struct Notes: Sendable {
        var progress = DownloadProgress()
        /// The wishes of all callers so far.
        var wishes: EntryWishes
        /// The wishes that went to the cache together with the entry.
        var published = EntryWishes()
        /// The entry that the caller found expired, or asks to refresh; later the entry with the sent validators.
        var held: Entry?
        /// The result for the callers; `nil` until there is an entry.
        var result: DownloadResult?
    }

    let request: DownloadRequest
    let key: CacheKey
    let manager: DownloadManager
    let startDate: Timestamp
    private let start = ContinuousClock.now

    /// - Parameter held: the entry that the caller found expired, or asks to refresh.
    static func makeFetch(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, manager: DownloadManager,
        _ machine: (FetchRules) -> FetchMachine<Caller>
    ) -> DownloadFetch {
        let policy = DownloadPolicy(
            request: request, key: key, manager: manager, startDate: manager.tools.clock.now())
        return Fetch(
            policy, machine(policy.rules), notes: Notes(wishes: request.wishes, held: held), tools: manager.tools)
    }

    let rules = FetchRules(deliversAtHead: false, isShared: true, queuesLateCallers: true, outlivesCallers: true)

    /// The time since the download was created.
    var elapsed: Duration { ContinuousClock.now - start }

    // MARK: - Asking

    func reserve(for fetch: DownloadFetch) {
        let reservation = fetch.tools.cache.reserve(
            key, kind: .download, url: request.url.string, pinned: request.pinned)
        // The tags are read in the step that sets the reservation. Tags that are united later go to the reservation
        // by ``DownloadManager``.
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

    // MARK: - The answer

    func judge(_ head: OriginHead, for fetch: DownloadFetch) throws -> DownloadFetch.Event? {
        let (reservation, isConditional) = fetch.state.withLock { state in
            state.notes.progress.totalBytes = head.declaredLength
            return (state.reservation, state.notes.held != nil)
        }
        if head.status == 304, isConditional { return .confirmed }
        guard (200..<300).contains(head.status), head.status != 206 else {
            throw DownloadError.originStatus(head.status, retryAfter: head.retryAfter(now: fetch.tools.clock.now()))
        }
        // Such an answer belongs to the client of the connection (RFC 4559 §6), but an entry is for every caller.
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
        let (result, published) = fetch.state.withLock { ($0.notes.result, $0.notes.published) }
        switch (outcome, result) {
        case (.failed(let error), _): manager.land(fetch, with: .failure(error), for: waiters, published: published)
        case (_, let result?): manager.land(fetch, with: .success(result), for: waiters, published: published)
        case (_, nil):
            let error = DownloadError.storage("the download ended without an entry")
            manager.land(fetch, with: .failure(error), for: waiters, published: published)
        }
    }
}
