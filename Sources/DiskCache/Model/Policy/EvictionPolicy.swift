/// Decides which entries go when room is needed. A policy has only the rules: it has no locks and holds no entries.
/// Each tier keeps its entries in its own ``EvictionQueues`` (the memory tier in an array, the disk tier in the index).
///
/// The policy does not see hits. The tier counts a hit in the entry's ``QueuePlace/frequency``, and the entry does not
/// move.
protocol EvictionPolicy: Sendable {
    /// Creates a policy without any knowledge of earlier entries.
    init()

    /// The place for an entry that was not held until now.
    ///
    /// - Parameters:
    ///   - hash: the hash of its key; the same for as long as the policy lives.
    ///   - cost: its bytes.
    ///   - totals: the totals of the queues without this entry.
    mutating func place(hash: Int, cost: Int64, among totals: QueueTotals) -> QueuePlace

    /// Chooses the next entry to go; `nil` when the queues are empty. The caller takes the entry out of its queue.
    ///
    /// - Parameter sparesNewest: whether the newest entry stays, however large it is, if it was not known before. For
    ///   eviction ahead of need.
    mutating func victim<Queues: EvictionQueues>(
        of queues: inout Queues, sparesNewest: Bool
    ) throws(Queues.Failure) -> QueuedEntry<Queues.ID>?

    /// Whether an entry that is not held was requested a short time ago.
    func isKnown(hash: Int) -> Bool

    /// Notes a request for an entry that is not held and will not be admitted, as if the entry had come and gone.
    mutating func pass(hash: Int, totals: QueueTotals)

    /// Notes that an entry goes for another reason than eviction and may be back soon, for example because it was
    /// replaced by another version.
    mutating func remember(hash: Int, place: QueuePlace, totals: QueueTotals)
}

/// The queues. The numbers are stored in the index and never change.
enum EvictionQueue: UInt8, Sendable {
    /// Holds new entries until they are requested again.
    case small = 0
    /// Holds entries that were requested again.
    case main = 1
}

/// The place of an entry: the part of the policy's state that is kept with the entry, beside its cost.
struct QueuePlace: Equatable, Sendable {
    static let frequencyLimit: UInt8 = 3

    var queue: EvictionQueue
    /// The number of hits since the entry came to this queue, at most ``frequencyLimit``. Each sparing takes one away.
    var frequency: UInt8 = 0

    mutating func hit() {
        if frequency < Self.frequencyLimit { frequency += 1 }
    }
}

/// An entry as the policy sees it.
struct QueuedEntry<ID: Sendable>: Sendable {
    /// The tier's identifier of the entry.
    var id: ID
    var hash: Int
    var cost: Int64
    var place: QueuePlace
}

/// The size of the queues, that is, of all entries that may be evicted.
struct QueueTotals: Equatable, Sendable {
    var entries = 0
    var bytes: Int64 = 0
    /// The part of `bytes` that is in ``EvictionQueue/small``.
    var smallBytes: Int64 = 0
}

/// The queues that a tier keeps, first in, first out. Pinned entries are in none of them.
protocol EvictionQueues {
    /// The tier's identifier of an entry.
    associatedtype ID: Sendable
    /// The error that an operation throws: `Never` in memory.
    associatedtype Failure: Error

    /// The number of entries and bytes in the queues.
    var totals: QueueTotals { get }

    /// The entry that has been in a queue longest; `nil` when the queue is empty.
    mutating func oldest(in queue: EvictionQueue) throws(Failure) -> QueuedEntry<ID>?

    /// Takes an entry out of its queue and puts it at the young end of the queue of `place`.
    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws(Failure)
}
