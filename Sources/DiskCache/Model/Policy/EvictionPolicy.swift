/// Decides which entries go when room is needed. A policy has only the rules: it has no locks and holds no entries.
/// Each tier keeps its entries in its own ``EvictionQueues`` (the memory tier in an array, the disk tier in the index).
/// It counts a hit in the entry's ``QueuePlace/frequency``, and the entry does not move; the policy does not see hits.
protocol EvictionPolicy: Sendable {
    init()

    /// The place for an entry that was not held until now. The hash of its key stays the same for as long as the policy
    /// lives. The cost is in bytes, and not yet part of the totals.
    mutating func place(hash: Int, cost: Int64, among totals: QueueTotals) -> QueuePlace

    /// Chooses the next entry to go; `nil` when the queues are empty. The caller takes the entry out of its queue.
    /// `sparesNewest`, for eviction ahead of need, spares the newest entry, however large, if it was not known before.
    mutating func victim<Queues: EvictionQueues>(
        of queues: inout Queues, sparesNewest: Bool
    ) throws(Queues.Failure) -> QueuedEntry<Queues.ID>?

    /// Whether an entry that is not held was requested a short time ago.
    func isKnown(hash: Int) -> Bool

    /// Notes a request for an entry that is not held and will not be admitted, as if the entry had come and gone.
    mutating func pass(hash: Int, totals: QueueTotals)

    /// Notes that an entry goes for another reason than eviction and may be back soon, for example as another version.
    mutating func remember(hash: Int, place: QueuePlace, totals: QueueTotals)
}

/// The numbers are stored in the index and never change.
enum EvictionQueue: UInt8, Sendable {
    /// New entries, until they are requested again.
    case small = 0
    /// Entries that were requested again.
    case main = 1
}

/// The part of the policy's state that is kept with the entry, beside its cost.
struct QueuePlace: Equatable, Sendable {
    static let frequencyLimit: UInt8 = 3

    var queue: EvictionQueue
    /// The hits since the entry came to this queue, at most ``frequencyLimit``. Each sparing takes one away.
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

/// The totals of all entries that may be evicted.
struct QueueTotals: Equatable, Sendable {
    var entries = 0
    var bytes: Int64 = 0
    /// The part of `bytes` that is in ``EvictionQueue/small``.
    var smallBytes: Int64 = 0
}

/// The queues of a tier, first in, first out. Pinned entries are in none of them.
protocol EvictionQueues {
    associatedtype ID: Sendable
    /// `Never` in memory.
    associatedtype Failure: Error

    var totals: QueueTotals { get }

    mutating func oldest(in queue: EvictionQueue) throws(Failure) -> QueuedEntry<ID>?

    /// Takes an entry out of its queue and puts it at the young end of the queue of `place`.
    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws(Failure)
}
