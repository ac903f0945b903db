// Invariants of this file
//
// - The policy holds no entry: all that it remembers are hashes of what has gone, at most one for each entry that there
//   is, 16 bytes each at the most. Without them it decides worse, never wrongly.
// - A choice spares no more than `moveLimit` entries, however often all of them were asked for. It seldom spares more
//   than a few: each takes a hit away that was counted before.

/// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache eviction", SOSP '23), with the sizes
/// of entries taken into account.
///
/// What is new goes to a small queue, a tenth of all bytes. Its oldest entry goes on to the main queue when it was
/// asked for meanwhile, else out: so a scan passes through that tenth and drives nobody else out. What is asked for
/// again soon after it went out comes to the main queue at once. That queue's oldest is spared, once for each hit.
///
/// A large entry must be asked for once more than others wherever that decides: it takes the room of many.
///
/// The numbers were chosen by replaying traces, as `scripts/bench eviction` does.
struct S3FIFOPolicy: EvictionPolicy {
    /// The small queue's part of all bytes: one of so many.
    private static let smallPart: Int64 = 10
    /// An entry of more than so many times the mean cost is large.
    private static let largeFactor: Double = 4
    /// The most entries that are spared in one choice.
    private static let moveLimit = 1000

    private var ghosts = GhostTable()
    /// The most hashes that are remembered, however many entries there are. What is too much goes with the next that is
    /// remembered, or at once when none is to be.
    var ghostLimit: Int {
        didSet { if ghostLimit == 0, oldValue > 0 { ghosts = GhostTable() } }
    }

    init() {
        self.init(ghostLimit: .max)
    }

    /// A policy that remembers at most `ghostLimit` of what has gone.
    init(ghostLimit: Int) {
        self.ghostLimit = ghostLimit
    }

    /// The memory that it takes.
    var memoryBytes: Int { ghosts.memoryBytes }

    mutating func place(hash: Int, cost: Int64, among totals: QueueTotals) -> QueuePlace {
        guard ghosts.remove(hash) else { return QueuePlace(queue: .small) }
        // To have been asked for again counts as a hit.
        return Self.spare(hits: 1, cost: cost, totals) != nil
            ? QueuePlace(queue: .main) : QueuePlace(queue: .small, frequency: 1)
    }

    mutating func victim<Queues: EvictionQueues>(
        of queues: inout Queues, sparesNewest: Bool
    ) throws(Queues.Failure) -> QueuedEntry<Queues.ID>? {
        var moves = 0
        while true {
            let totals = queues.totals
            let isSmallFull = totals.smallBytes * Self.smallPart > totals.bytes
            let order: (first: EvictionQueue, second: EvictionQueue) =
                isSmallFull ? (.small, .main) : (.main, .small)
            var oldest = try queues.oldest(in: order.first)
            // All that there is in the queue, though that is more than it is to hold.
            let isNewest = order.first == .small && oldest?.cost == totals.smallBytes
            if oldest == nil || (sparesNewest && isNewest) { oldest = try queues.oldest(in: order.second) }
            guard let entry = oldest else { return nil }

            guard moves < Self.moveLimit, let left = Self.spare(hits: entry.place.frequency, cost: entry.cost, totals)
            else {
                if entry.place.queue == .small { remember(entry.hash, totals) }
                return entry
            }
            moves += 1
            let frequency = entry.place.queue == .small ? 0 : left
            try queues.move(entry, to: QueuePlace(queue: .main, frequency: frequency))
        }
    }

    func isKnown(hash: Int) -> Bool { ghosts.contains(hash) }

    mutating func pass(hash: Int, totals: QueueTotals) { remember(hash, totals) }

    mutating func remember(hash: Int, place: QueuePlace, totals: QueueTotals) {
        if place.queue == .main || place.frequency > 0 { remember(hash, totals) }
    }

    private mutating func remember(_ hash: Int, _ totals: QueueTotals) {
        ghosts.insert(hash, limit: min(totals.entries, ghostLimit))
    }

    /// What is left of an entry's hits when it is spared; `nil` when they are too few for that.
    private static func spare(hits: UInt8, cost: Int64, _ totals: QueueTotals) -> UInt8? {
        let isLarge = Double(cost) * Double(totals.entries) > largeFactor * Double(totals.bytes)
        return hits > (isLarge ? 1 : 0) ? hits - 1 : nil
    }
}
