import DiskCache
import Primitives

/// The recently ended downloads, at most one for each key. The oldest are forgotten first. Their number and age are
/// bounded. Their bytes are bounded, too, because callers choose the length of URLs; all namespaces share that bound.
///
/// The type has no lock. Its owner must guard it.
struct EndedDownloads {
    /// The time for which an ended download is remembered.
    static let lifetime: Duration = .seconds(600)
    /// The greatest number of remembered downloads.
    static let limit = 10_000

    /// This namespace's part of the shared bytes.
    private let room: SharedAllowance.Part
    private var byKey: [String: (status: DownloadStatus, number: UInt64)] = [:]
    /// The keys in the order in which their downloads ended. A key that a later download of the same key overtook
    /// stands here with an older number, and is skipped.
    private var order: [(key: String, number: UInt64)] = []
    private var head = 0
    private var nextNumber: UInt64 = 0

    /// - Parameter room: the approximate number of bytes that all namespaces share.
    init(within room: SharedAllowance) {
        self.room = SharedAllowance.Part(of: room)
    }

    var count: Int { byKey.count }

    mutating func insert(_ status: DownloadStatus, now: Timestamp) {
        if let replaced = byKey.removeValue(forKey: status.key) { room.giveBack(replaced.status.cost) }
        while !room.take(status.cost) {
            // A status that is longer than all of the room is not remembered.
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

    /// Returns the most recently ended downloads, at most `count`, the latest end first.
    mutating func latest(_ count: Int, now: Timestamp) -> [DownloadStatus] {
        forget(now: now)
        let held = order[head...].reversed().lazy.compactMap { [byKey] (key, number) in
            byKey[key].flatMap { $0.number == number ? $0.status : nil }
        }
        return Array(held.prefix(count))
    }

    /// Forgets the downloads that ended too long ago, and the oldest beyond the limit.
    mutating func forget(now: Timestamp) {
        while let oldest, byKey.count > Self.limit || (oldest.endDate ?? now) + Self.lifetime <= now { forgetOldest() }
        // A key that a later download overtook leaves a gap, also in the middle.
        if order.count > 2 * byKey.count + 1024 {
            order = order[head...].filter { byKey[$0.key]?.number == $0.number }
            head = 0
        }
    }

    /// The remembered download that ended first; `nil` when none is remembered.
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

    /// Forgets the oldest download. Returns whether there was one.
    @discardableResult
    private mutating func forgetOldest() -> Bool {
        guard let oldest else { return false }
        byKey[oldest.key] = nil
        room.giveBack(oldest.cost)
        return true
    }
}

extension DownloadStatus {
    /// The approximate number of bytes that a status takes: its URL, and some for the rest. The words of an error are
    /// short.
    fileprivate var cost: Int { url.utf8.count + 512 }
}
