import DiskCache
import Dispatch
import Primitives

/// Events for the listeners of downloads. No event is built while the ``EventHub`` records no events.
///
/// Listeners get the events of a key in the order in which they happen: progress and end are published under the
/// manager's lock, and the start is published before the fetch begins.
extension DownloadManager {
    func tellStart(of fetch: DownloadFetch) {
        guard events.isWanted, let status = status(of: fetch.policy.key.text) else { return }
        events.publish(.downloadStarted, .download(DownloadReport(status: status, tags: fetch.tags)))
    }

    func tellProgress(of fetch: DownloadFetch) {
        let key = fetch.policy.key.text
        state.withLock { state in
            guard state.running[key]?.fetch === fetch else { return }
            let report = DownloadReport(status: Self.status(of: fetch), tags: fetch.tags)
            events.publish(.downloadProgress, .download(report))
        }
    }

    /// Publishes the end of a download. The caller holds the lock.
    func tellEnd(of fetch: DownloadFetch, _ status: DownloadStatus, _ result: Result<DownloadResult, DownloadError>) {
        guard events.isWanted else { return }
        switch result {
        case .success(let success):
            let isFromCache = success.outcome != .downloaded
            let report = DownloadReport(
                status: status, tags: success.entry.tags, entry: success.entry, isFromCache: isFromCache)
            events.publish(.downloadSucceeded, .download(report))
        case .failure(let error):
            var status = status
            status.error = error
            events.publish(.downloadFailed, .download(DownloadReport(status: status, tags: fetch.tags)))
        }
    }

    /// Publishes that a request was answered with the held entry. No download ran, so no start was published.
    func tellAnswer(_ entry: Entry, to request: DownloadRequest) {
        guard events.isWanted, events.takesCachedAnswer() else { return }
        let now = tools.clock.now()
        let status = DownloadStatus(
            key: entry.key, url: request.url.string, state: .succeeded, receivedBytes: 0, totalBytes: nil,
            bytesPerSecond: 0, waiters: 0, startDate: now, endDate: now)
        let report = DownloadReport(status: status, tags: entry.tags, entry: entry, isFromCache: true)
        events.publish(.downloadSucceeded, .download(report))
    }
}

struct DownloadProgress: Sendable {
    var receivedBytes: Int64 = 0
    var totalBytes: Int64?
    var pace = ReportPace()
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
