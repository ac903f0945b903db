import DiskCache
import Primitives

/// What listeners are told of downloads. Where nobody listens nothing is made for it.
///
/// What becomes of a key's downloads is told in the order in which it is so: progress and ends under the lock, the
/// beginning before there can be either.
extension DownloadManager {
    /// A download begins.
    func tellStart(of flight: Flight) {
        guard tools.events.areDownloadsWanted, let status = status(of: flight.key.text) else { return }
        tools.events.publish(.downloadStarted, DownloadReport(status, tags: flight.tags))
    }

    /// More of a download has come.
    func tellProgress(of flight: Flight) {
        let key = flight.key.text
        state.withLock { state in
            guard let running = state.running[key], running.flight === flight else { return }
            let status = Self.status(key: key, of: flight, waiters: running.waiters.count)
            tools.events.publish(.downloadProgress, DownloadReport(status, tags: flight.tags))
        }
    }

    /// A download has ended; under the lock.
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

    /// A request was answered with what is held: no download ran, and so none began.
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
