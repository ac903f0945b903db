import DiskCache
import Primitives

extension DownloadManager {
    /// Returns the running downloads, the latest start first, followed by the recently ended downloads, the latest end
    /// first.
    ///
    /// - Parameter limit: the greatest number of downloads in total; the last ones are left out. Default: no limit.
    package func statuses(limit: Int = .max) -> [DownloadStatus] {
        let now = tools.clock.now()
        let (running, ended) = state.withLock { state in
            // Takes only the number of waiters. While a copy of the waiters exists, every join and every leave copies
            // all of them.
            (
                state.running.map { (key: $0, flight: $1.flight, waiters: $1.waiters.count) },
                state.ended.latest(max(0, limit - state.running.count), now: now)
            )
        }
        let current = running.map { Self.status(key: $0.key, of: $0.flight, waiters: $0.waiters) }
            .sorted { ($0.startDate, $0.key) > ($1.startDate, $1.key) }
        return current.prefix(limit) + ended
    }

    /// Returns the download of a key, a running download before an ended one; `nil` when there is none.
    package func status(of key: String) -> DownloadStatus? {
        let now = tools.clock.now()
        return state.withLock { state in
            state.running[key].map { Self.status(key: key, of: $0.flight, waiters: $0.waiters.count) }
                ?? state.ended.status(of: key, now: now)
        }
    }

    /// Returns the entry that a download made, in its present state. Returns `nil` when the download made no entry, or
    /// the entry was replaced or removed since.
    package func entry(of status: DownloadStatus) throws(DiskCacheError) -> Entry? {
        guard let version = status.entryVersion, let entry = try tools.cache.entry(for: status.key) else { return nil }
        return entry.version == version ? entry : nil
    }

    /// The outcome of an attempt to cancel.
    package enum CancelResult: Sendable {
        case cancelled(DownloadStatus)
        case alreadyEnded(DownloadStatus)
        case unknown
    }

    /// Stops the download of a key, and the download that was to follow it. All waiters get
    /// ``DownloadError/cancelled``. `isGivenUp` is reset, so that callers that joined a given-up download get this
    /// error as well, instead of another flight.
    package func cancel(_ key: String) -> CancelResult {
        let (flight, next, later) = state.withLock { state in
            let running = state.running[key]
            state.running[key]?.next = nil
            state.running[key]?.isGivenUp = false
            state.running[key]?.later = [:]
            return (running?.flight, running?.next, running?.later ?? [:])
        }
        for waiter in later.values { waiter.completion(.failure(.cancelled)) }
        guard var status = status(of: key) else { return .unknown }
        let isStopped = flight?.cancel() == true
        guard isStopped || next != nil else { return .alreadyEnded(status) }
        status.state = .cancelled
        return .cancelled(status)
    }

    /// Forgets the downloads that ended too long ago. Every look-up does the same, but forgotten bytes are room for the
    /// other namespaces, so this must also happen without look-ups.
    func forgetEnded() {
        let now = tools.clock.now()
        state.withLock { $0.ended.forget(now: now) }
    }

    /// The number of downloads that run or wait for their turn.
    package var runningCount: Int { state.withLock { $0.running.count } }

    /// The number of waiters for the download that follows a purged or cancelled download.
    func laterCount(of key: String) -> Int { state.withLock { $0.running[key]?.later.count ?? 0 } }

    /// Refuses new downloads from now on, and cancels the running downloads.
    package func stop() {
        let flights = state.withLock { state in
            state.isStopping = true
            return state.running.values.map(\.flight)
        }
        for flight in flights { _ = flight.cancel() }
    }

    /// Cancels the downloads without waiters in either list.
    func endUnawaited() {
        let flights = state.withLock { state in
            state.running.values.filter { $0.waiters.isEmpty && $0.later.isEmpty }.map(\.flight)
        }
        for flight in flights { _ = flight.cancel() }
    }

    static func status(key: String, of flight: Flight, waiters: Int) -> DownloadStatus {
        let progress = flight.progress
        let seconds = flight.elapsed.inSeconds
        return DownloadStatus(
            key: key, url: flight.request.url.string, state: .running, receivedBytes: progress.receivedBytes,
            totalBytes: progress.totalBytes,
            bytesPerSecond: seconds > 0 ? Double(progress.receivedBytes) / seconds : 0,
            waiters: waiters, startDate: flight.startDate)
    }
}
