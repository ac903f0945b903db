import DiskCache
import Primitives

/// The status of a download, running or ended.
package struct DownloadStatus: Sendable {
    /// The states of a download.
    package enum State: String, Sendable, CaseIterable {
        case running, succeeded, failed, cancelled
    }

    /// The key of the entry that the download makes.
    package var key: String
    /// The canonical URL.
    package var url: String
    /// The state of the download.
    package var state: State
    /// The bytes of the body received so far, after decoding.
    package var receivedBytes: Int64
    /// The length of the whole body, in bytes; `nil` when the origin did not state it.
    package var totalBytes: Int64?
    /// The average speed since the start.
    package var bytesPerSecond: Double
    /// The number of callers that wait for the download.
    package var waiters: Int
    /// The time of the start.
    package var startDate: Timestamp
    /// The time of the end; `nil` while the download runs.
    package var endDate: Timestamp?
    /// The ``Entry/version`` of the entry that the download made; `nil` unless it succeeded. The entry itself is only
    /// in the cache: it may be changed, replaced or removed at any time. See ``DownloadManager/entry(of:)``.
    package var entryVersion: Int64?
    /// The reason for the failure; `nil` unless the download failed.
    package var error: DownloadError?
}
