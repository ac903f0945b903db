import DiskCache
import Primitives

extension DownloadManager {
    /// The place of a caller among the waiters of a download. ``leave(_:givingUp:)`` releases the place.
    package final class Place: Sendable {
        enum Step {
            /// A thread that may wait for the disk looks into the cache.
            case looking
            case waiting(UInt64)
            case left(givesUp: Bool)
        }

        let key: String
        let step = Locked(Step.looking)

        init(key: String) {
            self.key = key
        }
    }

    /// Releases the place of a caller, and does not call its completion any more. With `givingUp`, a download without
    /// other callers ends if its transfer has not begun yet. A transfer that has begun continues.
    package func leave(_ place: Place, givingUp: Bool = false) {
        let number: UInt64? = place.step.withLock { step in
            defer { step = .left(givesUp: givingUp) }
            if case .waiting(let number) = step { return number }
            return nil
        }
        if let number { remove(number, from: place.key, givingUp: givingUp) }
    }

    /// Removes a caller from the download that it waits for. Holds the manager's lock, so that the caller cannot move
    /// to the following download during the removal.
    func remove(_ number: UInt64, from key: String, givingUp: Bool) {
        let (fetch, actions) = state.withLock { state -> (DownloadFetch?, [DownloadFetch.Machine.Action]) in
            guard let fetch = state.running[key]?.fetch else { return (nil, []) }
            return (fetch, fetch.state.withLock { $0.machine.handle(.left(number, givesUp: givingUp)) })
        }
        fetch?.perform(actions)
    }

    /// Returns at most `limit` downloads: the running ones and then the ended ones, each group with the latest first.
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

    /// Returns the entry that a download made, as it is now; `nil` if it was replaced, was removed or never existed.
    package func entry(of status: DownloadStatus) throws(DiskCacheError) -> Entry? {
        guard let version = status.entryVersion, let entry = try tools.cache.entry(for: status.key) else { return nil }
        return entry.version == version ? entry : nil
    }

    package enum CancelResult: Sendable {
        case cancelled(DownloadStatus)
        case alreadyEnded(DownloadStatus)
        case unknown
    }

    /// Stops the download of a key and the download that was to follow it. Waiters get ``DownloadError/cancelled``.
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

    /// Forgets old ended downloads, and ended pauses of hosts. Every look-up of a download does so, too, but without
    /// look-ups the memory would not be freed.
    func forgetEnded() {
        let now = tools.clock.now()
        state.withLock { $0.ended.forget(now: now) }
        tools.pauses.forget(at: now)
    }

    /// The number of downloads that run or wait to begin.
    package var runningCount: Int { state.withLock { $0.running.count } }

    /// The number of waiters for the download that follows the running download of a key.
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

struct RunningDownload {
    let fetch: DownloadFetch
    /// The request of the download that follows `fetch`; `nil` when no caller asked for a further download.
    var next: DownloadRequest?
}

extension DownloadFetch {
    /// The tags of all callers so far, sorted.
    var tags: [String] { state.withLock(\.notes.wishes.tags).sorted() }
    /// Whether no caller waits for this download, or for the download that follows.
    var isUnawaited: Bool { state.withLock { $0.machine.callers.isEmpty && $0.machine.later.isEmpty } }
    func takeQueue() -> Machine.Queue { state.withLock { $0.machine.takeQueue() } }

    /// Adds a caller to this download. If this download was purged, was cancelled or has ended, or if the caller asks
    /// for a refresh, adds it to the next download, which has `nextTags`. `nil`: the entry would have too many tags.
    func admit(
        _ waiter: DownloadWaiter?, number: UInt64, _ request: DownloadRequest, nextTags: Set<String>
    ) -> Machine.Admission? {
        state.withLock { state in
            let isLate = request.refresh || state.reservation?.isPurged == true
            let isQueued = isLate || state.machine.isCancelled || state.machine.phase == .ended
            let tags = isQueued ? nextTags : state.notes.wishes.tags.union(request.tags)
            guard tags.count <= Entry.tagLimit else { return nil }
            if !isQueued {
                state.notes.wishes.formUnion(request.wishes)
                state.notes.unpublished.formUnion(request.wishes)
                // A caller that pins prevails over a caller that unpins.
                if state.notes.wishes.pinned == true, request.pinned == false { state.notes.unpublished.pinned = nil }
                state.reservation?.addTags(request.tags.sorted(), pinned: request.pinned)
            }
            return state.machine.join(waiter, number: number, isLate: isLate)
        }
    }
}
