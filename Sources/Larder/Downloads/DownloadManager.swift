import DiskCache
import Origin
import Primitives

/// Answers requests for downloads: from the cache, by joining a download that runs, or by asking the origin; never with
/// two downloads of one key at a time.
///
/// Invariants, all under `state`'s lock: a key has at most one flight in `running`; a waiter is in the list of exactly
/// one flight, and is called exactly once, after it was taken off the list and the lock was released. A flight leaves
/// `running` in the same step in which its waiters are taken, so nobody can join what has ended.
public final class DownloadManager: Sendable {
    /// Called once with the answer, on a thread that must not be kept waiting.
    public typealias Completion = @Sendable (Result<DownloadResult, DownloadError>) -> Void

    private struct Waiter {
        let request: DownloadRequest
        let joined: Bool
        let completion: Completion
    }

    private struct Running {
        let flight: Flight
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        var running: [String: Running] = [:]
        var ended = EndedDownloads()
        var nextWaiter: UInt64 = 0
        var isStopping = false
    }

    private let state = Locked(State())
    private let tools: Flight.Tools
    private let schemes: Set<String>

    init(tools: Flight.Tools, schemes: Set<String>) {
        self.tools = tools
        self.schemes = schemes
    }

    /// A caller's place among those who wait. Leaving it harms nobody else, nor the download.
    public struct Place: Sendable {
        let key: String
        let number: UInt64
    }

    /// Answers a request, at once or later.
    ///
    /// - Returns: the caller's place when it must wait; `nil` when the completion was, or is about to be, called without
    ///   the origin. Give it to ``leave(_:)`` when the caller is gone.
    @discardableResult
    public func download(_ request: DownloadRequest, completion: @escaping Completion) -> Place? {
        guard schemes.contains(request.url.scheme) else {
            completion(.failure(.schemeRefused(request.url.scheme)))
            return nil
        }
        let key = request.key
        do {
            switch try tools.cache.load(key.text, expectingURL: request.url.string) {
            case .needsVerification:
                tools.cache.verify(key.text) { [self] result in
                    let entry = (try? result.get())?.entry
                    decide(request, key: key, held: entry?.url == request.url.string ? entry : nil, completion)
                }
                return nil
            case .hit(let stored): return decide(request, key: key, held: stored.entry, completion)
            case .absent: return decide(request, key: key, held: nil, completion)
            }
        } catch {
            completion(.failure(DownloadError(error)))
            return nil
        }
    }

    /// Starts a download that nobody waits for, unless the entry is fresh.
    ///
    /// - Returns: the fresh entry, or else the download's status.
    public func start(_ request: DownloadRequest) throws(DownloadError) -> StartResult {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        let key = request.key
        let held: Entry?
        do {
            held = try tools.cache.entry(for: key.text, expectingURL: request.url.string)
        } catch {
            throw DownloadError(error)
        }
        if let held, !request.refresh, held.isFresh(at: tools.clock.now()) { return .cached(hit(held, request)) }
        tools.metrics.misses.increment()
        join(request, key: key, held: held, waiter: nil)
        guard let status = status(of: key.text) else { throw .stopping }
        return .started(status)
    }

    /// What ``start(_:)`` found.
    public enum StartResult: Sendable {
        /// The entry is fresh: there is nothing to do.
        case cached(DownloadResult)
        /// A download runs, or ran and has ended already.
        case started(DownloadStatus)
    }

    /// Gives up a caller's place; its completion is not called any more.
    public func leave(_ place: Place) {
        state.withLock { state in
            _ = state.running[place.key]?.waiters.removeValue(forKey: place.number)
        }
    }

    // MARK: Looking at downloads

    /// Every download that runs or ended lately, the latest start first.
    public func statuses() -> [DownloadStatus] {
        let now = tools.clock.now()
        let (running, ended) = state.withLock { state in
            (
                state.running.map { (key: $0.key, flight: $0.value.flight, waiters: $0.value.waiters.count) },
                state.ended.all(now: now)
            )
        }
        let current = running.map { Self.status(key: $0.key, of: $0.flight, waiters: $0.waiters) }
        return (current + ended).sorted { ($0.startDate, $0.key) > ($1.startDate, $1.key) }
    }

    /// The download of a key, the running one before an ended one; `nil` when there is none.
    public func status(of key: String) -> DownloadStatus? {
        let now = tools.clock.now()
        return state.withLock { state in
            state.running[key].map { Self.status(key: key, of: $0.flight, waiters: $0.waiters.count) }
                ?? state.ended.status(of: key, now: now)
        }
    }

    /// What became of an attempt to cancel.
    public enum CancelResult: Sendable {
        case cancelled(DownloadStatus)
        case alreadyEnded(DownloadStatus)
        case unknown
    }

    /// Stops the download of a key; those who wait get ``DownloadError/cancelled``.
    public func cancel(_ key: String) -> CancelResult {
        let flight = state.withLock { $0.running[key]?.flight }
        guard var status = status(of: key) else { return .unknown }
        guard let flight, flight.cancel() else { return .alreadyEnded(status) }
        status.state = .cancelled
        return .cancelled(status)
    }

    /// How many downloads run or wait for their turn.
    public var runningCount: Int { state.withLock { $0.running.count } }

    /// Refuses new downloads from now on, and cancels those that run.
    public func stop() {
        let flights = state.withLock { state in
            state.isStopping = true
            return state.running.values.map(\.flight)
        }
        for flight in flights { _ = flight.cancel() }
    }

    private static func status(key: String, of flight: Flight, waiters: Int) -> DownloadStatus {
        let progress = flight.progress
        let seconds = flight.elapsed.inSeconds
        return DownloadStatus(
            key: key, url: flight.request.url.string, state: .running, receivedBytes: progress.receivedBytes,
            totalBytes: progress.totalBytes,
            bytesPerSecond: seconds > 0 ? Double(progress.receivedBytes) / seconds : 0,
            waiters: waiters, startDate: flight.startDate)
    }

    // MARK: The four branches

    /// - Parameter held: the entry, whose body is known to be whole.
    @discardableResult
    private func decide(
        _ request: DownloadRequest, key: CacheKey, held: Entry?, _ completion: @escaping Completion
    ) -> Place? {
        if let held, !request.refresh {
            let now = tools.clock.now()
            if held.isFresh(at: now) {
                completion(.success(hit(held, request)))
                return nil
            }
            if let allowance = request.staleWhileRevalidate, now < held.expiryDate + allowance {
                join(request, key: key, held: held, waiter: nil)
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(held)
                completion(.success(DownloadResult(outcome: .stale, entry: held)))
                return nil
            }
        }
        tools.metrics.misses.increment()
        return join(request, key: key, held: held, waiter: completion)
    }

    private func hit(_ held: Entry, _ request: DownloadRequest) -> DownloadResult {
        tools.metrics.hits.increment()
        var entry = held
        if request.updatesExpiry { entry = tools.cache.slide(entry, ttl: request.ttl) }
        tools.cache.recordHit(entry)
        let newTags = request.tags.subtracting(entry.tags)
        let pinned = request.pinned == entry.pinned ? nil : request.pinned
        if !newTags.isEmpty || pinned != nil {
            // Not waited for: the answer is right without it, and a purge by tag that comes after this call is queued
            // behind it.
            tools.cache.update(
                entry.key, tags: newTags.isEmpty ? nil : request.tags.union(entry.tags).sorted(), pinned: pinned
            ) { _ in }
        }
        return DownloadResult(outcome: .cached, entry: entry)
    }

    /// Joins the flight of the key, or leads a new one.
    ///
    /// The race that the second look prevents:
    /// 1. A looks into the cache: a miss.
    /// 2. B, which led a flight of the same key, stores the entry and its flight ends.
    /// 3. A finds no flight, leads a new one, and would download what was stored a moment ago.
    /// So a leader looks into the cache once more, after its flight is the one of its key.
    @discardableResult
    private func join(_ request: DownloadRequest, key: CacheKey, held: Entry?, waiter: Completion?) -> Place? {
        enum Role { case leader(Flight), follower(Flight), refused }
        let (role, place) = state.withLock { state -> (Role, Place?) in
            if state.isStopping { return (.refused, nil) }
            let number = state.nextWaiter
            state.nextWaiter += 1
            let role: Role
            if let running = state.running[key.text] {
                role = .follower(running.flight)
            } else {
                let flight = Flight(request, key: key, tools: tools) { [weak self] in self?.land($0, with: $1) }
                state.running[key.text] = Running(flight: flight)
                role = .leader(flight)
            }
            guard let waiter else { return (role, nil) }
            let joined = if case .follower = role { true } else { false }
            state.running[key.text]?.waiters[number] = Waiter(request: request, joined: joined, completion: waiter)
            return (role, Place(key: key.text, number: number))
        }
        switch role {
        case .refused: waiter?(.failure(.stopping))
        case .follower(let flight):
            tools.metrics.joins.increment()
            flight.addTags(request.tags)
        case .leader(let flight): lead(flight, held: held)
        }
        return place
    }

    private func lead(_ flight: Flight, held: Entry?) {
        flight.reserve()
        var held = held
        if case .hit(let stored)? = try? tools.cache.load(flight.key.text, expectingURL: flight.request.url.string) {
            let isNew = stored.entry.version != held?.version
            held = stored.entry
            if isNew, stored.entry.isFresh(at: tools.clock.now()) {
                flight.end(.success(DownloadResult(outcome: .cached, entry: stored.entry)))
                return
            }
        } else {
            held = nil
        }
        flight.depart(held: held)
    }

    /// A flight has ended: everyone who waits gets the answer that is theirs.
    private func land(_ flight: Flight, with result: Result<DownloadResult, DownloadError>) {
        let key = flight.key.text
        let now = tools.clock.now()
        count(result, elapsed: flight.elapsed)
        let waiters = state.withLock { state -> [Waiter] in
            guard let running = state.running[key], running.flight === flight else { return [] }
            state.running[key] = nil
            var status = Self.status(key: key, of: flight, waiters: 0)
            status.endDate = now
            switch result {
            case .success(let success): (status.state, status.entry) = (.succeeded, success.entry)
            case .failure(.cancelled): status.state = .cancelled
            case .failure(let error): (status.state, status.error) = (.failed, error)
            }
            state.ended.insert(status, now: now)
            return Array(running.waiters.values)
        }
        guard !waiters.isEmpty else { return }
        switch result {
        case .success(let success):
            for waiter in waiters {
                let outcome = waiter.joined ? .joined : success.outcome
                waiter.completion(.success(DownloadResult(outcome: outcome, entry: success.entry)))
            }
        case .failure(let error):
            let older = try? tools.cache.entry(for: key, expectingURL: flight.request.url.string)
            for waiter in waiters {
                if let older, error.allowsStale, let allowance = waiter.request.staleIfError,
                    now < older.expiryDate + allowance
                {
                    tools.metrics.staleAnswers.increment()
                    waiter.completion(.success(DownloadResult(outcome: .stale, entry: older)))
                } else {
                    waiter.completion(.failure(error))
                }
            }
        }
    }

    private func count(_ result: Result<DownloadResult, DownloadError>, elapsed: Duration) {
        tools.metrics.downloadDurations.record(elapsed)
        switch result {
        case .success(let success) where success.outcome == .revalidated: tools.metrics.revalidated.increment()
        case .success(let success) where success.outcome == .downloaded: tools.metrics.downloaded.increment()
        case .success: break
        case .failure(.cancelled): tools.metrics.cancelled.increment()
        case .failure: tools.metrics.failed.increment()
        }
    }
}
