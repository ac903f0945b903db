import DiskCache
import Primitives

/// What is known of a download, running or ended.
public struct DownloadStatus: Sendable {
    /// The states a download goes through.
    public enum State: String, Sendable, CaseIterable {
        case running, succeeded, failed, cancelled
    }

    /// The key of the entry it makes.
    public var key: String
    /// The canonical URL.
    public var url: String
    /// Where it is.
    public var state: State
    /// Bytes of the body received so far, after decoding.
    public var receivedBytes: Int64
    /// Bytes that the body will have; `nil` when the origin did not say.
    public var totalBytes: Int64?
    /// Average since the start.
    public var bytesPerSecond: Double
    /// How many callers wait for it.
    public var waiters: Int
    /// When it began.
    public var startDate: Timestamp
    /// When it ended; `nil` while it runs.
    public var endDate: Timestamp?
    /// What it made; `nil` unless it succeeded.
    public var entry: Entry?
    /// Why it failed; `nil` unless it did.
    public var error: DownloadError?
}

/// The downloads that ended lately, one a key, the oldest forgotten first. No lock: its owner has one.
struct EndedDownloads {
    /// How long an ended download is remembered.
    static let lifetime: Duration = .seconds(600)
    /// How many are remembered at most.
    static let limit = 10_000

    private var byKey: [String: (status: DownloadStatus, number: UInt64)] = [:]
    /// The keys in the order in which their downloads ended; those that were overtaken by a later one of the same key
    /// have another number there and are skipped.
    private var order: [(key: String, number: UInt64)] = []
    private var head = 0
    private var nextNumber: UInt64 = 0

    var count: Int { byKey.count }

    mutating func insert(_ status: DownloadStatus, now: Timestamp) {
        byKey[status.key] = (status, nextNumber)
        order.append((status.key, nextNumber))
        nextNumber += 1
        forget(now: now)
    }

    mutating func status(of key: String, now: Timestamp) -> DownloadStatus? {
        forget(now: now)
        return byKey[key]?.status
    }

    mutating func all(now: Timestamp) -> [DownloadStatus] {
        forget(now: now)
        return byKey.values.map(\.status)
    }

    private mutating func forget(now: Timestamp) {
        while head < order.count {
            let (key, number) = order[head]
            if let held = byKey[key], held.number == number {
                let isOld = (held.status.endDate ?? now) + Self.lifetime <= now
                guard isOld || byKey.count > Self.limit else { break }
                byKey[key] = nil
            }
            head += 1
        }
        // What was overtaken by a later download of its key leaves a gap in the middle, too.
        if order.count > 2 * byKey.count + 1024 {
            order = order[head...].filter { byKey[$0.key]?.number == $0.number }
            head = 0
        }
    }
}
