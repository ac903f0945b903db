import DiskCache
import Logging
import Origin
import Primitives

/// Answers requests for downloads: from the cache, by joining a running download, or by asking the origin. Two
/// downloads of one key never run at the same time.
///
/// Invariants, all under the lock of `state`:
/// - A key has at most one fetch in `running`.
/// - A fetch leaves `running` in the same step that takes the callers of its queue. So no caller can join the queue of
///   an ended fetch after its queue was taken.
/// - `places` counts one place for each key in `running`. A fetch that follows another takes over its place.
/// - The order of locks is: this lock, then a fetch's lock. Under the lock of a ``Place``, no other lock is taken.
package final class DownloadManager: Sendable {
    /// Called once with the answer, on a thread that it must not block.
    package typealias Completion = @Sendable (Result<DownloadResult, DownloadError>) -> Void

    /// The allowances that the managers of all namespaces share.
    struct Allowances: Sendable {
        /// Downloads that run or wait, at most 10,000 in one namespace. Further requests get ``DownloadError/busy``.
        var running = SharedAllowance(limit: 20_000, floor: 64)
        /// The number of bytes that ended downloads may take, at most 16 MiB in one namespace.
        var ended = SharedAllowance(limit: 32 << 20, floor: 64 << 10)
    }

    struct State {
        var running: [String: RunningDownload] = [:]
        let places: SharedAllowance.Part
        var ended: EndedDownloads
        var nextWaiter: UInt64 = 0
        var isStopping = false
    }

    let state: Locked<State>
    let tools: FetchTools
    let events: NamespaceEvents
    let entryLimit: Int64
    let schemes: Set<String>
    /// Adds the name of the namespace to each message, except for the default namespace.
    let logger: Logger

    init(
        tools: FetchTools, events: NamespaceEvents, entryLimit: Int64, schemes: Set<String>, allowances: Allowances,
        logger: Logger
    ) {
        self.tools = tools
        self.events = events
        self.entryLimit = entryLimit
        self.logger = logger
        self.schemes = schemes
        let places = SharedAllowance.Part(of: allowances.running)
        state = Locked(State(places: places, ended: EndedDownloads(within: allowances.ended)))
    }

    /// Answers a request, at once or later. Returns the place of a caller that waits for the disk or the origin, to be
    /// passed to ``leave(_:givingUp:)`` if the caller leaves. Returns `nil` if the completion was called, or soon is.
    /// Only tests choose the key, because URLs with the same MD5 are not easily made.
    @discardableResult
    package func download(
        _ request: DownloadRequest, key: CacheKey? = nil, completion: @escaping Completion
    ) -> Place? {
        let key = key ?? request.key
        do throws(DownloadError) {
            switch try look(for: request, key) {
            case .needsVerification, .onDisk:
                let place = Place(key: key.text)
                find(request, key) { [self] held in
                    switch place.step.withLock(\.self) {
                    case .left(givesUp: true): break
                    case .left(givesUp: false): decide(request, key: key, held: held, { _ in }, place)
                    case .looking, .waiting: decide(request, key: key, held: held, completion, place)
                    }
                }
                return place
            case .hit(let stored): return decide(request, key: key, held: stored.entry, completion)
            case .absent: return decide(request, key: key, held: nil, completion)
            }
        } catch {
            completion(.failure(error))
            return nil
        }
    }

    package enum StartResult: Sendable {
        /// The entry is fresh, so no download starts.
        case cached(DownloadResult)
        /// A download runs, or ran and has already ended.
        case started(DownloadStatus)
    }

    /// Starts a download without a waiter, unless the entry is fresh.
    package func start(
        _ request: DownloadRequest, completion: @escaping @Sendable (Result<StartResult, DownloadError>) -> Void
    ) {
        let key = request.key
        let go: @Sendable (Entry?) -> Void = { [self] held in
            if let held, !request.refresh, held.held || held.isFresh(at: tools.clock.now()) {
                hit(held, request) { result in completion(result.map { .cached($0) }) }
                return
            }
            tools.metrics.misses.increment()
            completion(
                Result { () throws(DownloadError) in
                    try join(request, key: key, held: held)
                    guard let status = status(of: key.text) else { throw .stopping }
                    return .started(status)
                })
        }
        do throws(DownloadError) {
            switch try look(for: request, key) {
            case .needsVerification, .onDisk: find(request, key, go)
            case .hit(let stored): go(stored.entry)
            case .absent: go(nil)
            }
        } catch {
            completion(.failure(error))
        }
    }

    private func look(for request: DownloadRequest, _ key: CacheKey) throws(DownloadError) -> LoadResult {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        do {
            return try tools.cache.load(key.text, expectingURL: request.url.string, mayWait: false)
        } catch {
            throw DownloadError(error)
        }
    }

    /// Looks the entry up on a thread that may wait for the disk. Passes `then` an entry with a whole body, or `nil`.
    private func find(_ request: DownloadRequest, _ key: CacheKey, _ then: @escaping @Sendable (Entry?) -> Void) {
        tools.cache.find(key.text, expectingURL: request.url.string) { found in
            then((try? found.get())?.entry)
        }
    }

    /// Answers a request: with a fresh entry, with a stale entry (and refreshes it in the background), by joining a
    /// download, or by starting one. The body of `held` is known to be whole. `place`: the caller's, if it has one.
    @discardableResult
    private func decide(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, _ completion: @escaping Completion,
        _ place: Place? = nil
    ) -> Place? {
        if let held, !request.refresh {
            let now = tools.clock.now()
            if held.isFresh(at: now) {
                hit(held, request, completion)
                return nil
            }
            // The subscription refreshes its copy itself.
            if held.held {
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(held)
                tellAnswer(held, to: request)
                completion(.success(DownloadResult(outcome: .stale, entry: held)))
                return nil
            }
            if let allowance = request.staleWhileRevalidate, now < held.expiryDate + allowance {
                // This answer does not depend on whether the refresh can start.
                let refreshes = (try? join(request, key: key, held: held)) != nil
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(held)
                tellAnswer(held, to: request)
                completion(.success(DownloadResult(outcome: .stale, entry: held, isChange: refreshes)))
                return nil
            }
        }
        tools.metrics.misses.increment()
        do {
            let place = place ?? Place(key: key.text)
            let waiter = DownloadWaiter(request: request, completion: completion)
            try join(request, key: key, held: held, waiter: waiter, place)
            return place
        } catch {
            completion(.failure(error))
            return nil
        }
    }

    private func hit(_ held: Entry, _ request: DownloadRequest, _ completion: @escaping Completion) {
        tools.metrics.hits.increment()
        let entry = request.updatesExpiry ? tools.cache.slide(held, ttl: request.ttl) : held
        tools.cache.recordHit(entry)
        let wishes = request.wishes
        guard !wishes.areFulfilled(by: entry) else {
            tellAnswer(entry, to: request)
            completion(.success(DownloadResult(outcome: .cached, entry: entry)))
            return
        }
        tools.cache.update(
            entry.key, addingTags: wishes.tags.sorted(), pinned: wishes.pinned == entry.pinned ? nil : wishes.pinned,
            staleAllowance: wishes.staleAllowance
        ) { [self] result in
            completion(
                result.map { changed in
                    // `changed` is `nil` if the entry was removed after the request had found it.
                    tellAnswer(changed ?? entry, to: request)
                    return DownloadResult(outcome: .cached, entry: changed ?? entry, isChange: changed != nil)
                }.mapError(DownloadError.init))
        }
    }

    /// Joins the download of the key, or starts a new one. A new fetch looks into the cache once more when it is in
    /// `running`, because of this race between the callers A and B:
    /// 1. A looks into the cache: a miss.
    /// 2. B's download of the same key, which ran already, stores the entry and ends.
    /// 3. A finds no running download, starts a new one, and would fetch a body that was stored a moment ago.
    ///
    /// `held` is the entry that the request found expired, or asks to refresh. `waiter` is `nil` for a caller that does
    /// not wait; `place` gets the number of the waiter. Throws ``DownloadError/stopping``, ``DownloadError/busy``,
    /// ``DownloadError/keyInUse`` and ``DownloadError/tooManyTags(limit:)``, and then does not call the waiter.
    private func join(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, waiter: DownloadWaiter? = nil, _ place: Place? = nil
    ) throws(DownloadError) {
        enum Role { case leads(DownloadFetch), follows, isQueued }
        let result = state.withLock { state -> Result<(Role, UInt64), DownloadError> in
            if state.isStopping { return .failure(.stopping) }
            let number = state.nextWaiter
            state.nextWaiter += 1
            guard let running = state.running[key.text] else {
                guard state.places.take(1) else { return .failure(.busy) }
                let fetch = DownloadPolicy.makeFetch(request, key: key, held: held, manager: self) { rules in
                    FetchMachine(rules, leader: waiter, number: number)
                }
                state.running[key.text] = RunningDownload(fetch: fetch)
                return .success((.leads(fetch), number))
            }
            // Two resources may have the same MD5. A caller may join only a download of its own resource.
            guard running.fetch.policy.request.isSameResource(as: request) else { return .failure(.keyInUse) }
            var next = running.next ?? request
            next.wishes.formUnion(request.wishes)
            next.refresh = next.refresh || request.refresh
            guard let admission = running.fetch.admit(waiter, number: number, request, nextTags: next.tags) else {
                return .failure(.tooManyTags(limit: Entry.tagLimit))
            }
            guard admission == .queued else { return .success((.follows, number)) }
            state.running[key.text]?.next = next
            return .success((.isQueued, number))
        }
        let (role, number) = try result.get()
        let givesUp: Bool? = place?.step.withLock { step in
            if case .left(let givesUp) = step { return givesUp }
            step = .waiting(number)
            return nil
        }
        switch role {
        case .leads(let fetch): lead(fetch)
        case .follows: tools.metrics.joins.increment()
        case .isQueued: break
        }
        // The caller left while the cache was searched.
        if let givesUp { remove(number, from: key.text, givingUp: givesUp) }
    }

    /// Starts a fetch that is already in `running`.
    func lead(_ fetch: DownloadFetch) {
        tellStart(of: fetch)
        fetch.start(looksAgain: true)
    }
}
