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
    /// The ``Entry/version`` of what it made; `nil` unless it succeeded. The entry itself lives in the cache only: it
    /// may be changed, replaced or removed at any time. See ``DownloadManager/entry(of:)``.
    public var entryVersion: Int64?
    /// Why it failed; `nil` unless it did.
    public var error: DownloadError?
}

/// The downloads that ended lately, one a key, the oldest forgotten first: bounded in number, in age and, since URLs
/// are as long as callers make them, in bytes, which all namespaces share. No lock: its owner has one.
struct EndedDownloads {
    /// How long an ended download is remembered.
    static let lifetime: Duration = .seconds(600)
    /// How many are remembered at most.
    static let limit = 10_000

    /// What it has of the bytes that all may take.
    private let room: SharedAllowance.Part
    private var byKey: [String: (status: DownloadStatus, number: UInt64)] = [:]
    /// The keys in the order in which their downloads ended; those that were overtaken by a later one of the same key
    /// have another number there and are skipped.
    private var order: [(key: String, number: UInt64)] = []
    private var head = 0
    private var nextNumber: UInt64 = 0

    /// - Parameter room: the bytes that all may take, about.
    init(within room: SharedAllowance) {
        self.room = SharedAllowance.Part(of: room)
    }

    var count: Int { byKey.count }

    mutating func insert(_ status: DownloadStatus, now: Timestamp) {
        if let replaced = byKey.removeValue(forKey: status.key) { room.giveBack(replaced.status.cost) }
        while !room.take(status.cost) {
            // What is too long for all of the room is not remembered.
            guard forgetOldest() else { return }
        }
        byKey[status.key] = (status, nextNumber)
        order.append((status.key, nextNumber))
        nextNumber += 1
        forget(now: now)
    }

    mutating func status(of key: String, now: Timestamp) -> DownloadStatus? {
        forget(now: now)
        return byKey[key]?.status
    }

    /// The last of them, the latest end first.
    mutating func latest(_ count: Int, now: Timestamp) -> [DownloadStatus] {
        forget(now: now)
        let held = order[head...].reversed().lazy.compactMap { [byKey] (key, number) in
            byKey[key].flatMap { $0.number == number ? $0.status : nil }
        }
        return Array(held.prefix(count))
    }

    /// Forgets those that ended too long ago, and those that are too many.
    mutating func forget(now: Timestamp) {
        while let oldest, byKey.count > Self.limit || (oldest.endDate ?? now) + Self.lifetime <= now { forgetOldest() }
        // What was overtaken by a later download of its key leaves a gap in the middle, too.
        if order.count > 2 * byKey.count + 1024 {
            order = order[head...].filter { byKey[$0.key]?.number == $0.number }
            head = 0
        }
    }

    /// The one that ended first of those that are remembered.
    private var oldest: DownloadStatus? {
        mutating get {
            while head < order.count {
                let (key, number) = order[head]
                if let held = byKey[key], held.number == number { return held.status }
                head += 1
            }
            return nil
        }
    }

    /// Returns whether there was one.
    @discardableResult
    private mutating func forgetOldest() -> Bool {
        guard let oldest else { return false }
        byKey[oldest.key] = nil
        room.giveBack(oldest.cost)
        return true
    }
}

extension DownloadStatus {
    /// About how many bytes it takes: its URL, and some for the rest. The words of an error are short.
    fileprivate var cost: Int { url.utf8.count + 512 }
}
