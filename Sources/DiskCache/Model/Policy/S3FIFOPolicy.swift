// Invariants: the policy holds only hashes of entries outside the queues, at most one for each; without them it decides
// worse, never wrongly. A choice spares at most `moveLimit` entries, mostly few, because each sparing uses up a hit.

/// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP '23), with the sizes
/// of entries taken into account. New entries go to a small queue, a tenth of all bytes. Its oldest entry moves to the
/// main queue if it was requested, otherwise it is evicted, so a scan does not fill the main queue. An entry requested
/// again soon after its eviction goes to the main queue at once, where the oldest is spared once for each hit. A large
/// entry needs one more hit. The constants were chosen by replaying traces (`scripts/bench eviction`). Each tier keeps
/// its entries in its own ``EvictionQueues``, and counts hits in ``QueuePlace/frequency``; the policy sees no hits.
struct S3FIFOPolicy: Sendable {
    /// The small queue's part of all bytes is one divided by this number.
    private static let smallPart: Int64 = 10
    /// An entry that costs more than this many times the mean is large.
    private static let largeFactor: Double = 4
    private static let moveLimit = 1000
    private var ghosts = GhostTable()
    /// The most hashes. After a decrease, the next insertion drops surplus hashes; a limit of 0 drops all at once.
    var ghostLimit: Int {
        didSet { if ghostLimit == 0, oldValue > 0 { ghosts = GhostTable() } }
    }

    init(ghostLimit: Int = .max) {
        self.ghostLimit = ghostLimit
    }

    var memoryBytes: Int { ghosts.memoryBytes }

    /// The place for a new entry. A key's hash never changes. The cost, in bytes, is not yet part of the totals.
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
            // The entry is alone in the small queue, and by itself exceeds that queue's part.
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

    /// Remembers an entry that is evicted, or that was requested but is not admitted, as if it had come and gone.
    mutating func remember(hash: Int, totals: QueueTotals) {
        ghosts.insert(hash, limit: min(totals.entries, ghostLimit))
    }

    /// The hits left after the entry is spared; `nil` when it has too few hits to be spared.
    private static func spare(hits: UInt8, cost: Int64, _ totals: QueueTotals) -> UInt8? {
        let isLarge = Double(cost) * Double(totals.entries) > largeFactor * Double(totals.bytes)
        return hits > (isLarge ? 1 : 0) ? hits - 1 : nil
    }
}
