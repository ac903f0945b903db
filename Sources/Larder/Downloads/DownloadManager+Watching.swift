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
            (state.running.values.map(\.fetch), state.ended.latest(max(0, limit - state.running.count), now: now))
        }
        let current = running.map { Self.status(of: $0) }
            .sorted { ($0.startDate, $0.key) > ($1.startDate, $1.key) }
        return current.prefix(limit) + ended
    }

    /// Returns the download of a key, a running download before an ended one; `nil` when there is none.
    package func status(of key: String) -> DownloadStatus? {
        let now = tools.clock.now()
        return state.withLock { state in
            state.running[key].map { Self.status(of: $0.fetch) }
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
    /// ``DownloadError/cancelled``.
    package func cancel(_ key: String) -> CancelResult {
        let (fetch, next, queue) = state.withLock { state in
            let running = state.running[key]
            state.running[key]?.next = nil
            return (running?.fetch, running?.next, running?.fetch.takeQueue())
        }
        for waiter in queue?.waiters.values ?? [:].values { waiter.caller.completion(.failure(.cancelled)) }
        guard var status = status(of: key) else { return .unknown }
        let isStopped = fetch?.cancel() == true
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
    func laterCount(of key: String) -> Int {
        state.withLock { state in state.running[key]?.fetch.state.withLock { $0.machine.later.count } ?? 0 }
    }

    /// Refuses new downloads from now on, and cancels the running downloads.
    package func stop() {
        let fetches = state.withLock { state in
            state.isStopping = true
            return state.running.values.map(\.fetch)
        }
        for fetch in fetches { fetch.cancel() }
    }

    /// Cancels the downloads without waiters in either list.
    func endUnawaited() {
        let fetches = state.withLock { $0.running.values.map(\.fetch) }
        for fetch in fetches where fetch.isUnawaited { fetch.cancel() }
    }

    static func status(of fetch: DownloadFetch) -> DownloadStatus {
        let (progress, waiters) = fetch.state.withLock { ($0.notes.progress, $0.machine.callers.count) }
        let policy = fetch.policy
        let seconds = policy.elapsed.inSeconds
        return DownloadStatus(
            key: policy.key.text, url: policy.request.url.string, state: .running,
            receivedBytes: progress.receivedBytes, totalBytes: progress.totalBytes,
            bytesPerSecond: seconds > 0 ? Double(progress.receivedBytes) / seconds : 0,
            waiters: waiters, startDate: policy.startDate)
    }
}
