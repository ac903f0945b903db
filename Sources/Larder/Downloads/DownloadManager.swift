import DiskCache
import Origin
import Primitives

/// Answers requests for downloads: from the cache, by joining a running download, or by asking the origin. Two
/// downloads of one key never run at the same time.
///
/// Invariants, all under the lock of `state`:
/// - A key has at most one flight in `running`.
/// - A waiter is in one list of one `Running`. Its completion is called exactly once, after the waiter was taken off
///   the list and the lock was released.
/// - A flight leaves `running` in the same step that takes its waiters, so no caller can join a flight that has ended.
/// - `places` counts one place for each key in `running`. A flight that follows another keeps its place.
/// - The order of locks is: this lock, then a flight's.
package final class DownloadManager: Sendable {
    /// Called once with the answer, on a thread that it must not block.
    package typealias Completion = @Sendable (Result<DownloadResult, DownloadError>) -> Void

    /// The allowances that the managers of all namespaces share.
    struct Allowances: Sendable {
        /// The number of downloads that may run or wait for their turn: 10,000 in a single namespace. A request beyond
        /// it gets ``DownloadError/busy``.
        var running = SharedAllowance(limit: 20_000, floor: 64)
        /// The number of bytes that ended downloads may take: 16 MiB in a single namespace.
        var ended = SharedAllowance(limit: 32 << 20, floor: 64 << 10)
    }

    struct State {
        var running: [String: Running] = [:]
        /// The places for running downloads: one for each key in `running`.
        let places: SharedAllowance.Part
        var ended: EndedDownloads
        var nextWaiter: UInt64 = 0
        var isStopping = false
    }

    let state: Locked<State>
    let tools: Flight.Tools
    let schemes: Set<String>

    init(tools: Flight.Tools, schemes: Set<String>, allowances: Allowances) {
        self.tools = tools
        self.schemes = schemes
        let places = SharedAllowance.Part(of: allowances.running)
        state = Locked(State(places: places, ended: EndedDownloads(within: allowances.ended)))
    }

    /// Answers a request, at once or later.
    ///
    /// - Returns: the place of a caller that waits for a flight. Pass it to ``leave(_:givingUp:)`` when the caller is
    ///   gone. `nil` in two cases: the completion was called, or is about to be called, without the origin; or the body
    ///   must first be read from the disk or verified. In the second case, the caller has no place even if its request
    ///   then goes to the origin.
    @discardableResult
    package func download(_ request: DownloadRequest, completion: @escaping Completion) -> Place? {
        download(request, key: request.key, completion)
    }

    /// Answers a request under a given key; see ``download(_:completion:)``. Only tests choose the key, because URLs
    /// with the same MD5 are not easily made.
    @discardableResult
    func download(_ request: DownloadRequest, key: CacheKey, _ completion: @escaping Completion) -> Place? {
        do throws(DownloadError) {
            switch try look(for: request, key) {
            case .needsVerification, .onDisk:
                find(request, key) { [self] held in decide(request, key: key, held: held, completion) }
                return nil
            case .hit(let stored): return decide(request, key: key, held: stored.entry, completion)
            case .absent: return decide(request, key: key, held: nil, completion)
            }
        } catch {
            completion(.failure(error))
            return nil
        }
    }

    /// The outcome of ``start(_:completion:)``.
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
            if let held, !request.refresh, held.isFresh(at: tools.clock.now()) {
                hit(held, request) { result in completion(result.map { .cached($0) }) }
                return
            }
            tools.metrics.misses.increment()
            completion(
                Result { () throws(DownloadError) in
                    _ = try join(request, key: key, held: held, waiter: nil)
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

    // MARK: Looking

    private func look(for request: DownloadRequest, _ key: CacheKey) throws(DownloadError) -> LoadResult {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        do {
            return try tools.cache.load(key.text, expectingURL: request.url.string, mayWait: false)
        } catch {
            throw DownloadError(error)
        }
    }

    /// Looks the entry up on a thread that may wait for the disk, and verifies its body if necessary. Passes `then` an
    /// entry whose body is whole, or `nil`.
    private func find(_ request: DownloadRequest, _ key: CacheKey, _ then: @escaping @Sendable (Entry?) -> Void) {
        tools.cache.find(key.text, expectingURL: request.url.string) { found in
            then((try? found.get())?.entry)
        }
    }

    // MARK: The four branches

    /// Answers a request: with a fresh entry, with a stale entry and a refresh behind it, by joining a flight, or by
    /// leading a new flight.
    ///
    /// - Parameter held: the entry, whose body is known to be whole.
    @discardableResult
    private func decide(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, _ completion: @escaping Completion
    ) -> Place? {
        if let held, !request.refresh {
            let now = tools.clock.now()
            if held.isFresh(at: now) {
                hit(held, request, completion)
                return nil
            }
            if let allowance = request.staleWhileRevalidate, now < held.expiryDate + allowance {
                // This answer does not depend on whether the refresh can start.
                let refreshes = (try? join(request, key: key, held: held, waiter: nil)) != nil
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(held)
                tellAnswer(held, to: request)
                completion(.success(DownloadResult(outcome: .stale, entry: held, isChange: refreshes)))
                return nil
            }
        }
        tools.metrics.misses.increment()
        do {
            return try join(request, key: key, held: held, waiter: completion)
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
                    // The entry was removed in this very moment, but it existed when the request came.
                    tellAnswer(changed ?? entry, to: request)
                    return DownloadResult(outcome: .cached, entry: changed ?? entry, isChange: changed != nil)
                }.mapError(DownloadError.init))
        }
    }

    /// Joins the flight of the key, or leads a new flight.
    ///
    /// The race that the second look prevents:
    /// 1. A looks into the cache: a miss.
    /// 2. B, which led a flight of the same key, stores the entry, and its flight ends.
    /// 3. A finds no flight, leads a new flight, and would download a body that was stored a moment ago.
    /// So a leader looks into the cache once more after its flight is in `running`.
    ///
    /// - Returns: the waiter's place; `nil` without a waiter. Throws ``DownloadError/stopping``,
    ///   ``DownloadError/busy``, ``DownloadError/keyInUse`` and ``DownloadError/tooManyTags(limit:)``. After an error
    ///   the waiter is not called.
    private func join(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, waiter: Completion?
    ) throws(DownloadError) -> Place? {
        enum Role { case leads(Flight), follows(Flight), comesLater }
        let result = state.withLock { state -> Result<(Role, Place?), DownloadError> in
            if state.isStopping { return .failure(.stopping) }
            let number = state.nextWaiter
            state.nextWaiter += 1
            func place(in list: WritableKeyPath<Running, [UInt64: Waiter]>, joined: Bool) -> Place? {
                guard let waiter else { return nil }
                state.running[key.text]?[keyPath: list][number] = Waiter(
                    request: request, joined: joined, completion: waiter)
                return Place(key: key.text, number: number)
            }
            guard let flight = state.running[key.text]?.flight else {
                guard state.places.take(1) else { return .failure(.busy) }
                let flight = makeFlight(request, key)
                state.running[key.text] = Running(flight: flight, goesOnAlone: waiter == nil)
                return .success((.leads(flight), place(in: \.waiters, joined: false)))
            }
            // The key is an MD5, and two resources may have the same MD5. So the comparison of the resources decides
            // whether the caller may have the flight's result.
            guard flight.request.isSameResource(as: request) else { return .failure(.keyInUse) }
            guard flight.isClosed || request.refresh else {
                guard flight.unite(request.wishes) else { return .failure(.tooManyTags(limit: Entry.tagLimit)) }
                if waiter == nil { state.running[key.text]?.goesOnAlone = true }
                return .success((.follows(flight), place(in: \.waiters, joined: true)))
            }
            let known = state.running[key.text]?.next
            var next = known ?? request
            next.tags.formUnion(request.tags)
            next.refresh = next.refresh || request.refresh
            guard next.tags.count <= Entry.tagLimit else { return .failure(.tooManyTags(limit: Entry.tagLimit)) }
            state.running[key.text]?.next = next
            return .success((.comesLater, place(in: \.later, joined: known != nil)))
        }
        let (role, place) = try result.get()
        switch role {
        case .leads(let flight): lead(flight, held: held)
        case .follows(let flight):
            tools.metrics.joins.increment()
            flight.passOn(request.tags)
        case .comesLater: break
        }
        return place
    }

    func makeFlight(_ request: DownloadRequest, _ key: CacheKey) -> Flight {
        Flight(
            request, key: key, tools: tools, progressed: { [weak self] in self?.tellProgress(of: $0) },
            finish: { [weak self] in self?.land($0, with: $1) })
    }

    /// Starts a flight that is already in `running`.
    ///
    /// - Parameter held: the entry that the request found expired, or asked to refresh.
    func lead(_ flight: Flight, held: Entry?) {
        tellStart(of: flight)
        flight.reserve()
        depart(flight, held: held)
    }

    /// Lets a flight depart, unless the cache has a new and fresh entry by now.
    private func depart(_ flight: Flight, held: Entry?) {
        tools.cache.find(flight.key.text, expectingURL: flight.request.url.string) { [self] found in
            guard case .success(let stored?) = found else { return flight.depart(held: nil) }
            let isNew = stored.entry.version != held?.version
            if isNew, !flight.request.refresh, stored.entry.isFresh(at: tools.clock.now()) {
                flight.end(.success(DownloadResult(outcome: .cached, entry: stored.entry)))
            } else {
                flight.depart(held: stored.entry)
            }
        }
    }
}
