import DiskCache
import Dispatch
import Primitives

/// Events for the listeners of downloads. No event is built while the ``EventHub`` records no events.
///
/// Listeners get the events of a key in the order in which they happen: progress and end are published under the
/// manager's lock, and the start is published before the fetch begins.
extension DownloadManager {
    func tellStart(of fetch: DownloadFetch) {
        guard events.areDownloadsWanted, let status = status(of: fetch.policy.key.text) else { return }
        events.publish(.downloadStarted, DownloadReport(status: status, tags: fetch.tags))
    }

    func tellProgress(of fetch: DownloadFetch) {
        let key = fetch.policy.key.text
        state.withLock { state in
            guard state.running[key]?.fetch === fetch else { return }
            events.publish(.downloadProgress, DownloadReport(status: Self.status(of: fetch), tags: fetch.tags))
        }
    }

    /// Publishes the end of a download. The caller holds the lock.
    func tellEnd(of fetch: DownloadFetch, _ status: DownloadStatus, _ result: Result<DownloadResult, DownloadError>) {
        guard events.areDownloadsWanted else { return }
        switch result {
        case .success(let success):
            let isFromCache = success.outcome != .downloaded
            events.publish(
                .downloadSucceeded,
                DownloadReport(status: status, tags: success.entry.tags, entry: success.entry, isFromCache: isFromCache)
            )
        case .failure(let error):
            var status = status
            status.error = error
            events.publish(.downloadFailed, DownloadReport(status: status, tags: fetch.tags))
        }
    }

    /// Publishes that a request was answered with the held entry. No download ran, so no start was published.
    func tellAnswer(_ entry: Entry, to request: DownloadRequest) {
        guard events.areDownloadsWanted, events.takesCachedAnswer() else { return }
        let now = tools.clock.now()
        let status = DownloadStatus(
            key: entry.key, url: request.url.string, state: .succeeded, receivedBytes: 0, totalBytes: nil,
            bytesPerSecond: 0, waiters: 0, startDate: now, endDate: now)
        events.publish(
            .downloadSucceeded, DownloadReport(status: status, tags: entry.tags, entry: entry, isFromCache: true))
    }
}

struct DownloadProgress: Sendable {
    var receivedBytes: Int64 = 0
    var totalBytes: Int64?
    var pace = ReportPace()
}

/// The pace of progress reports to listeners: the first report comes at once, and then at most four reports a second.
/// If the origin pauses, a scheduled report still includes the last piece. A plain value.
struct ReportPace {
    /// The time between two reports.
    static let interval: Duration = .milliseconds(250)

    private var next: ContinuousClock.Instant?
    /// Whether a later report is already scheduled.
    private var isPromised = false

    /// Returns the delay after which a report must follow, because a new piece has arrived. 0: the report happens now;
    /// `nil`: a report that is already scheduled will include the piece.
    mutating func turn(at now: ContinuousClock.Instant) -> Duration? {
        if isPromised { return nil }
        if let next, now < next {
            isPromised = true
            return next - now
        }
        next = now + Self.interval
        return .zero
    }

    /// Notes that the scheduled report happens now.
    mutating func keepPromise(at now: ContinuousClock.Instant) {
        isPromised = false
        next = now + Self.interval
    }
}

extension DownloadFetch {
    func report(_ delay: Duration) {
        if delay == .zero { return tell() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds) + 1)) {
            [weak self] in
            self?.state.withLock { $0.notes.progress.pace.keepPromise(at: .now) }
            self?.tell()
        }
    }

    private func tell() {
        // A complete body is not reported here: the listeners get the end of the download instead.
        let isUnderWay = state.withLock { state in
            state.machine.phase == .arriving && state.notes.progress.receivedBytes != state.notes.progress.totalBytes
        }
        if isUnderWay { policy.manager.tellProgress(of: self) }
    }
}

/// The recently ended downloads, at most one for each key. The first to end is the first to be forgotten. Their number
/// and age are limited. All namespaces share a limit of the bytes, because callers choose the length of URLs.
struct EndedDownloads {
    static let lifetime: Duration = .seconds(600)
    static let limit = 10_000

    /// This namespace's part of the shared bytes.
    private let room: SharedAllowance.Part
    /// By key, in the order in which the downloads ended.
    private var statuses = LinkedTable<String, DownloadStatus>()

    /// `room` is the approximate number of bytes that all namespaces share.
    init(within room: SharedAllowance) {
        self.room = SharedAllowance.Part(of: room)
    }

    var count: Int { statuses.count }

    mutating func insert(_ status: DownloadStatus, now: Timestamp) {
        forget(status.key)
        while !room.take(status.cost) {
            // Without older statuses to forget, a status for which there is no room is not remembered.
            guard let oldest = statuses.first else { return }
            forget(oldest.key)
        }
        statuses.append(status, for: status.key)
        forget(now: now)
    }

    mutating func status(of key: String, now: Timestamp) -> DownloadStatus? {
        forget(now: now)
        return statuses[key]
    }

    /// Returns the most recently ended downloads, at most `count`, the latest end first.
    mutating func latest(_ count: Int, now: Timestamp) -> [DownloadStatus] {
        forget(now: now)
        return statuses.latest(count)
    }

    /// Forgets the downloads that ended too long ago, and, beyond the limit, the downloads that ended first.
    mutating func forget(now: Timestamp) {
        while let (key, oldest) = statuses.first,
            count > Self.limit || (oldest.endDate ?? now) + Self.lifetime <= now
        {
            forget(key)
        }
    }

    private mutating func forget(_ key: String) {
        if let status = statuses.remove(key) { room.giveBack(status.cost) }
    }
}

extension DownloadStatus {
    /// The approximate bytes of a status: its URL, and 512 for all other values, because the text of an error is short.
    fileprivate var cost: Int { url.utf8.count + 512 }
}
