import DiskCache
import Primitives

/// Events for the listeners of downloads. No event is built when there is no listener.
///
/// Listeners get the events of a key in the order in which they happen: progress and ends are published under the lock,
/// and the start is published before either can happen.
extension DownloadManager {
    /// Publishes the start of a download.
    func tellStart(of flight: Flight) {
        guard tools.events.areDownloadsWanted, let status = status(of: flight.key.text) else { return }
        tools.events.publish(.downloadStarted, DownloadReport(status, tags: flight.tags))
    }

    /// Publishes the progress of a download, as long as its flight is in `running`.
    func tellProgress(of flight: Flight) {
        let key = flight.key.text
        state.withLock { state in
            guard let running = state.running[key], running.flight === flight else { return }
            let status = Self.status(key: key, of: flight, waiters: running.waiters.count)
            tools.events.publish(.downloadProgress, DownloadReport(status, tags: flight.tags))
        }
    }

    /// Publishes the end of a download. The caller holds the lock.
    func tellEnd(of flight: Flight, _ status: DownloadStatus, _ result: Result<DownloadResult, DownloadError>) {
        guard tools.events.areDownloadsWanted else { return }
        switch result {
        case .success(let success):
            let isFromCache = success.outcome != .downloaded
            tools.events.publish(
                .downloadSucceeded,
                DownloadReport(status, tags: success.entry.tags, entry: success.entry, isFromCache: isFromCache))
        case .failure(let error):
            var status = status
            status.error = error
            tools.events.publish(.downloadFailed, DownloadReport(status, tags: flight.tags))
        }
    }

    /// Publishes that a request was answered with the held entry. No download ran, so no start was published.
    func tellAnswer(_ entry: Entry, to request: DownloadRequest) {
        guard tools.events.areDownloadsWanted, tools.events.takesCachedAnswer() else { return }
        let now = tools.clock.now()
        let status = DownloadStatus(
            key: entry.key, url: request.url.string, state: .succeeded, receivedBytes: 0, totalBytes: nil,
            bytesPerSecond: 0, waiters: 0, startDate: now, endDate: now)
        tools.events.publish(
            .downloadSucceeded, DownloadReport(status, tags: entry.tags, entry: entry, isFromCache: true))
    }
}
