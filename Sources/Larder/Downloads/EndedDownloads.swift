import DiskCache
import Primitives

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
