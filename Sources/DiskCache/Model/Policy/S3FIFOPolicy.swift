// Invariants: of an entry outside the queues the policy holds only a hash, and at most one. A lost hash makes a choice
// worse, not wrong. A choice spares up to `moveLimit` entries, usually few, because each loses a hit.

/// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP '23), which here
/// considers the sizes of entries. New entries go to a small queue, a tenth of all bytes. Its oldest entry moves to the
/// main queue if it was requested, otherwise it is evicted, so a scan does not fill the main queue. An entry requested
/// again soon after its eviction goes directly to the main queue. The oldest entry of the main queue returns to its
/// young end once for each hit. To be spared, a large entry needs one hit more than other entries. The constants come
/// from replayed traces (`scripts/bench eviction`). Each tier keeps its entries in its own ``EvictionQueues``, and
/// counts hits in ``QueuePlace/frequency``; the policy sees no hits.
struct S3FIFOPolicy: Sendable {
    /// The small queue's part of all bytes is one divided by this number.
    private static let smallPart: Int64 = 10
    /// An entry that costs more than this many times the mean cost is large.
    private static let largeFactor: Double = 4
    private static let moveLimit = 1000
    private var ghosts = GhostTable()
    /// The most hashes of evicted entries. After a decrease, the next insertion drops the excess; 0 drops all at once.
    var ghostLimit: Int {
        didSet { if ghostLimit == 0, oldValue > 0 { ghosts = GhostTable() } }
    }

    init(ghostLimit: Int = .max) {
        self.ghostLimit = ghostLimit
    }

    var memoryBytes: Int { ghosts.memoryBytes }

    /// The place for a new entry. A key always has the same `hash`. The totals do not include `cost`, in bytes, yet.
    mutating func place(hash: Int, cost: Int64, among totals: QueueTotals) -> QueuePlace {
        guard ghosts.remove(hash) else { return QueuePlace(queue: .small) }
        // The repeated request counts as a hit.
        return Self.spare(hits: 1, cost: cost, totals) != nil
            ? QueuePlace(queue: .main) : QueuePlace(queue: .small, frequency: 1)
    }

    /// Chooses the next entry to evict; `nil` when the queues are empty. The caller takes the entry out of its queue.
    /// `sparesNewest`, for eviction without a waiting store, spares the newest entry of the small queue, however large.
    mutating func victim<Queues: EvictionQueues>(
        of queues: inout Queues, sparesNewest: Bool
    ) throws(Queues.Failure) -> QueuedEntry<Queues.ID>? {
        var moves = 0
        while true {
            let totals = queues.totals
            let isSmallFull = totals.smallBytes * Self.smallPart > totals.bytes
            let order: (first: EvictionQueue, second: EvictionQueue) = isSmallFull ? (.small, .main) : (.main, .small)
            var oldest = try queues.oldest(in: order.first)
            // Whether `oldest` is the only entry of the small queue, and alone exceeds that queue's part of all bytes.
            let isNewest = order.first == .small && oldest?.cost == totals.smallBytes
            if oldest == nil || (sparesNewest && isNewest) { oldest = try queues.oldest(in: order.second) }
            guard let entry = oldest else { return nil }
            guard moves < Self.moveLimit, let left = Self.spare(hits: entry.place.frequency, cost: entry.cost, totals)
            else {
                if entry.place.queue == .small { remember(hash: entry.hash, totals: totals) }
                return entry
            }
            moves += 1
            let frequency = entry.place.queue == .small ? 0 : left
            try queues.move(entry, to: QueuePlace(queue: .main, frequency: frequency))
        }
    }

    /// Whether an entry that the tier does not hold was requested a short time ago.
    func isKnown(hash: Int) -> Bool { ghosts.contains(hash) }

    /// Remembers an entry that leaves without eviction and may be back soon, for example as another version.
    mutating func remember(hash: Int, place: QueuePlace, totals: QueueTotals) {
        if place.queue == .main || place.frequency > 0 { remember(hash: hash, totals: totals) }
    }

    /// Remembers an entry that is evicted, or an entry that was requested but does not enter the tier.
    mutating func remember(hash: Int, totals: QueueTotals) {
        ghosts.insert(hash, limit: min(totals.entries, ghostLimit))
    }

    /// The hits left after the entry is spared; `nil` when it has too few hits to be spared.
    private static func spare(hits: UInt8, cost: Int64, _ totals: QueueTotals) -> UInt8? {
        let isLarge = Double(cost) * Double(totals.entries) > largeFactor * Double(totals.bytes)
        return hits > (isLarge ? 1 : 0) ? hits - 1 : nil
    }
}

/// The numbers are stored in the index and never change.
enum EvictionQueue: UInt8, Sendable {
    case small = 0
    case main = 1
    /// Holds the entries that no policy chooses: the resources of pages.
    case unranked = 2
}

/// The part of the policy's state that is stored with each entry.
struct QueuePlace: Equatable, Sendable {
    static let frequencyLimit: UInt8 = 3
    var queue: EvictionQueue
    /// The hits since the entry came to this queue, at most ``frequencyLimit``. An entry that is spared loses a hit.
    var frequency: UInt8 = 0

    mutating func hit() {
        if frequency < Self.frequencyLimit { frequency += 1 }
    }
}

struct QueuedEntry<ID: Sendable>: Sendable {
    var id: ID
    var hash: Int
    var cost: Int64
    var place: QueuePlace
}

/// The totals of the entries that may be evicted.
struct QueueTotals: Equatable, Sendable {
    var entries = 0
    var bytes: Int64 = 0
    /// The part of `bytes` that is in ``EvictionQueue/small``.
    var smallBytes: Int64 = 0
}

/// The queues of a tier, first in, first out. Pinned entries are in none of them.
protocol EvictionQueues {
    associatedtype ID: Sendable
    /// `Never` for the queues in memory.
    associatedtype Failure: Error

    var totals: QueueTotals { get }

    mutating func oldest(in queue: EvictionQueue) throws(Failure) -> QueuedEntry<ID>?

    /// Takes an entry out of its queue and puts it at the young end of the queue of `place`.
    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws(Failure)
}

// Invariants: a cell with a number of at least `first` stands for a remembered hash. There are `count` such cells.
// Exactly the bits of their numbers are set. `next` - `first` is at most the number of bits, so numbers share no bit.

/// Remembers the hashes of the last evicted entries, up to a limit that each insertion states. A bucket is a cache line
/// of eight cells. A full bucket forgets its oldest hash early. If a million hashes are remembered, one in 4,000 other
/// hashes seems to be among them. These errors only cause a worse choice. The bits tell which numbers still stand for a
/// hash, so removed hashes do not count. The table takes at most 16 bytes for each hash that the limit allows, plus 72.
struct GhostTable: Sendable {
    private static let bucketSize = 8

    /// The mark (half of a hash) in the low half, the number of the insertion in the high half.
    private var cells: [UInt64] = []
    /// The insertion numbers that are remembered. The bit of a number is at the number modulo the count of bits.
    private var bits: [UInt64] = []
    /// The lowest number that may be remembered, and the next number to assign. The number 0 is never assigned.
    private var (first, next): (UInt32, UInt32) = (1, 1)
    private(set) var count = 0
    var memoryBytes: Int { (cells.count + bits.count) * MemoryLayout<UInt64>.stride }

    /// Forgets a hash, because its entry is back. Returns whether the hash was there.
    mutating func remove(_ hash: Int) -> Bool {
        guard let index = find(Self.mark(hash)) else { return false }
        clear(index)
        return true
    }

    func contains(_ hash: Int) -> Bool { find(Self.mark(hash)) != nil }

    /// Remembers a hash. First forgets the oldest hashes, so that at most `limit` are remembered.
    mutating func insert(_ hash: Int, limit: Int) {
        guard limit > 0 else { return }
        let mark = Self.mark(hash)
        if let index = find(mark) { clear(index) }
        while count >= limit { forgetOldest() }
        fit(limit)
        put(mark)
    }

    private mutating func put(_ mark: UInt32) {
        let bucket = bucket(of: mark)
        // Forgotten cells have lower numbers than remembered cells, and an empty cell has the lowest number.
        let target = bucket.min { cells[$0] >> 32 < cells[$1] >> 32 } ?? bucket.lowerBound
        if isRemembered(target) { clear(target) }
        cells[target] = UInt64(next) << 32 | UInt64(mark)
        bits[Int(next) / 64 % bits.count] |= 1 << (next % 64)
        count += 1
        next += 1
    }

    private func find(_ mark: UInt32) -> Int? {
        guard !cells.isEmpty else { return nil }
        return bucket(of: mark).first { UInt32(truncatingIfNeeded: cells[$0]) == mark && isRemembered($0) }
    }

    private func isRemembered(_ index: Int) -> Bool { cells[index] >> 32 >= UInt64(first) }

    private mutating func clear(_ index: Int) {
        let number = UInt32(cells[index] >> 32)
        bits[Int(number) / 64 % bits.count] &= ~(1 << (number % 64))
        cells[index] = 0
        count -= 1
    }

    private mutating func forgetOldest() {
        let (word, bit) = (Int(first) / 64 % bits.count, UInt64(1) << (first % 64))
        if bits[word] & bit != 0 {
            bits[word] &= ~bit
            count -= 1
        }
        first += 1
    }

    /// Resizes the table if it is too small or too large. Renumbers the hashes at a resize, and when no number is left.
    private mutating func fit(_ limit: Int) {
        let isTight = cells.count * 4 < (count + 1) * 5
        let isWide = cells.count > max(Self.bucketSize, limit * 15 / 8)
        guard isTight || isWide || next == .max || Int(next - first) >= bits.count * 64 else { return }
        var buckets = cells.count / Self.bucketSize
        if isTight || isWide {
            // Does not grow to the limit at once: the table fills only as entries are evicted, and may never be full.
            let target = isTight ? min(limit, max(count * 2, 32)) : limit
            buckets = max(1, target * 7 / 4 / Self.bucketSize)
        }
        let remembered = cells.filter { $0 >> 32 >= UInt64(first) }.sorted { $0 >> 32 < $1 >> 32 }
        cells = [UInt64](repeating: 0, count: buckets * Self.bucketSize)
        bits = [UInt64](repeating: 0, count: (buckets + 1) / 2)
        (first, next, count) = (1, 1, 0)
        for cell in remembered { put(UInt32(truncatingIfNeeded: cell)) }
    }

    private static func mark(_ hash: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: UInt64(truncatingIfNeeded: hash) >> 32)
    }

    private func bucket(of mark: UInt32) -> Range<Int> {
        let number = (UInt64(mark) * UInt64(cells.count / Self.bucketSize)) >> 32
        let start = Int(number) * Self.bucketSize
        return start..<start + Self.bucketSize
    }
}
