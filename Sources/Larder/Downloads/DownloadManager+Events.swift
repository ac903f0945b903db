import DiskCache
import Primitives

/// Events for the listeners of downloads. No event is built when there is no listener.
///
/// Listeners get the events of a key in the order in which they happen: progress and ends are published under the lock,
/// and the start is published before either can happen.
extension DownloadManager {
    /// Publishes the start of a download.
    func tellStart(of fetch: DownloadFetch) {
        guard events.areDownloadsWanted, let status = status(of: fetch.policy.key.text) else { return }
        events.publish(.downloadStarted, DownloadReport(status, tags: fetch.tags))
    }

    /// Publishes the progress of a download, as long as its fetch is in `running`.
    func tellProgress(of fetch: DownloadFetch) {
        let key = fetch.policy.key.text
        state.withLock { state in
            guard state.running[key]?.fetch === fetch else { return }
            events.publish(.downloadProgress, DownloadReport(Self.status(of: fetch), tags: fetch.tags))
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
                DownloadReport(status, tags: success.entry.tags, entry: success.entry, isFromCache: isFromCache))
        case .failure(let error):
            var status = status
            status.error = error
            events.publish(.downloadFailed, DownloadReport(status, tags: fetch.tags))
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
            .downloadSucceeded, DownloadReport(status, tags: entry.tags, entry: entry, isFromCache: true))
    }
}
